"""What may run, judged by what a call really does. Rules are data; whatever they do not name is denied."""

from app.agent.policy.policy import Policy
from app.agent.policy.seam import NoDesktop, Resolve
from app.agent.policy.values import Act, Control, Decision, Mode, Provenance, Stakes, Verdict

__all__ = [
    "Act",
    "Control",
    "Decision",
    "Mode",
    "NoDesktop",
    "Policy",
    "Provenance",
    "Resolve",
    "Stakes",
    "Verdict",
]
