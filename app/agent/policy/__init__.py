"""Decide whether a call may run: the person decides which programs Wisp may use, and walls never fall. In comes a call
with the controls that it would act on; `call_analysis.py` reads what it comes to, `decision.py` decides, `policy.py`
adds the person's rules and lasting grants. Out goes a verdict: allow, ask or deny, with the rule that said so. What
this promises is in SECURITY.md.
"""

from app.agent.policy.policy import Policy
from app.agent.policy.values import (
    Action,
    Control,
    ControlWindow,
    Decision,
    Mode,
    Need,
    NoDesktop,
    Subject,
    TargetInspector,
    Tier,
    Trust,
    Verdict,
)

__all__ = [
    "Action",
    "Control",
    "ControlWindow",
    "Decision",
    "Mode",
    "Need",
    "NoDesktop",
    "Policy",
    "Subject",
    "TargetInspector",
    "Tier",
    "Trust",
    "Verdict",
]
