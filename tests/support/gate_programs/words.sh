# What a case's conditions and controls may call, besides plain shell.
# said TEXT: a program printed it.  asked TEXT: a request reached the server (host and path).  shows, gone TITLE: windows.
# ended N CODE: the Nth program ended so.  running PATTERN: a process of this display.  person TEXT, chord KEYSYM…:
# the person's own keyboard, which is not XTEST's.
said() { grep -aqE -- "$1" "$OUT/out"; }
asked() { grep -aqE -- "$1" "$OUT/requests"; }
shows() { xdotool search --onlyvisible --name "$1" >/dev/null 2>&1; }
gone() { ! shows "$1"; }
ended() { [ "$(cat "$OUT/exit.$1" 2>/dev/null)" = "$2" ]; }
running() { for p in $(pgrep -f -- "$1"); do tr '\0' '\n' < /proc/$p/environ 2>/dev/null | grep -qx "DISPLAY=$DISPLAY" && return 0; done; return 1; }
person() { "$WISP_PYTHON" -c '
import os, sys
sys.path.insert(0, os.environ["WISP_ROOT"])
from scripts.device import PersonsDevices
PersonsDevices(os.environ).type(sys.argv[1])' "$1"; }
chord() { "$WISP_PYTHON" -c '
import os, sys
sys.path.insert(0, os.environ["WISP_ROOT"])
from scripts.device import PersonsDevices
PersonsDevices(os.environ).press_together(*(int(a, 16) for a in sys.argv[1:]))' "$@"; }
# hand ARGUMENT…: the person's xdotool, with time for the program before and after.  front TITLE: activate a window.
hand() { sleep 0.2; xdotool "$@"; sleep 0.3; }
front() { xdotool windowactivate --sync "$(xdotool search --onlyvisible --name "$1" | tail -1)"; sleep 0.3; }
