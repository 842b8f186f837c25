"""The backend for Wayland: sway, labwc and their kin by the compositor's own protocols, GNOME and KDE by their portals.
In come the same requests as on X11; `backend.py` chooses the means for each. Out go the same values; what a compositor
cannot do is a sentence that says so.

Windows come from sway, Hyprland or GNOME's extension (`gnome.py`), KWin's by scripts in `resources/desktop`. Without
the extension `described.py` tells which there are. Elsewhere `toplevels.py` lists them and `pictures.py` finds them by
their pictures; `xwayland.py` adds the programs of X11. `portal.py` holds the session of a portal and its question. On a
GNOME of its own, `mutter.py` gives pictures, input and clipboard without one.
"""
