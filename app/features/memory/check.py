"""The check of `wisp doctor` for the memory."""

from __future__ import annotations

from app.base.findings import Finding, note, ok
from app.services import fact_search


def memory() -> Finding:
    """Report whether facts are found by their meaning, too."""
    name = "Memory"
    if fact_search.is_installed() and (why := fact_search.why_unusable()):
        told = f"facts are found by their words alone, because the extra for their meaning does not load ({why})"
        return note(name, told, 'Set it up again: pip install --force-reinstall ".[memory]"')
    if fact_search.is_installed():
        return ok(name, "facts are found by their words and by their meaning")
    return note(name, "facts are found by their words", f'For more ({fact_search.SIZE_MB} MB): pip install ".[memory]"')
