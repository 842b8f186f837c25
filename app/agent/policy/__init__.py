"""What may run, judged by what a call really does. Rules are data; whatever they do not name is denied."""

from app.agent.policy.policy import Policy
from app.agent.policy.values import (
    Action,
    Control,
    Decision,
    LeftField,
    Mode,
    NoDesktop,
    Provenance,
    Stakes,
    TargetInspector,
    Verdict,
)

__all__ = [
    "Action",
    "Control",
    "Decision",
    "LeftField",
    "Mode",
    "NoDesktop",
    "Policy",
    "Provenance",
    "Stakes",
    "TargetInspector",
    "Verdict",
]
