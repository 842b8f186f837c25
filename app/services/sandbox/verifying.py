"""The last look before a command begins, from inside: is every mount in the workspace the one that was meant?

bubblewrap mounts by name. Another command of the same workspace, running at that moment, could put a link in the place
of a name that had just been looked at, and so have a folder from outside mounted. The kernel's list of mounts tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

_ESCAPED = {" ": "\\040", "\t": "\\011", "\n": "\\012", "\\": "\\134"}
"""How the kernel writes these signs in its list."""

_SCRIPT = r"""
space=$0 hidden=$1 base=
shift
fail() { echo "wisp: the workspace changed while the sandbox was built; nothing was run. Try again." >&2; exit 125; }
while read -r _ _ _ root point _; do [ "$point" != "$space" ] || base=$root; done </proc/self/mountinfo
[ -n "$base" ] || fail
while read -r _ _ _ root point _; do
    case $point in "$space"/*) ;; *) continue ;; esac
    case $hidden in *"|$point|"*) continue ;; esac
    [ "$root" = "${base%/}${point#"$space"}" ] || fail
done </proc/self/mountinfo
IFS='|'
for point in $hidden; do
    [ -z "$point" ] && continue
    found=
    while IFS=' ' read -r _ _ _ _ there _; do [ "$there" != "$point" ] || found=1; done </proc/self/mountinfo
    [ -n "$found" ] || fail
done
unset IFS
exec "$@"
"""


def prefix(workspace: Path, hidden: Sequence[Path]) -> tuple[str, ...]:
    """What stands between the wall and the command. `hidden` are the masks that must be there."""
    names = "".join(f"|{_written(path)}|" for path in hidden)
    return ("/bin/sh", "-c", _SCRIPT, _written(workspace), names)


def _written(path: Path) -> str:
    return "".join(_ESCAPED.get(sign, sign) for sign in str(path))
