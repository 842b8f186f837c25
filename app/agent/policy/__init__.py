"""Decide whether a call may run, by what it would really do.

`call_analysis` reads what a call comes to, `rules` what may run; `policy` compares the two. Whatever no rule and no
mode names is denied. The promises that this keeps, each with its proof, are in SECURITY.md.
"""

from app.agent.policy.policy import Policy
from app.agent.policy.values import (
    Action,
    Control,
    ControlKeyboard,
    ControlScene,
    ControlWindow,
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
    "ControlKeyboard",
    "ControlScene",
    "ControlWindow",
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
