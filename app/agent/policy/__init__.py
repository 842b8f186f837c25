"""Decide whether a call may run: the person decides which programs Wisp may use, and walls never fall.

`call_analysis` reads what a call comes to, `decision` decides, `policy` adds the person's rules and lasting
grants. What this promises is in SECURITY.md.
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
