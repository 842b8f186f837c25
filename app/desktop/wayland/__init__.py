"""The backend for Wayland: sway, labwc and their kin by the compositor's own protocols, GNOME and KDE by their portals.
In come the same requests as on X11; `backend.py` chooses the means for each. Out go the same values; what a compositor
cannot do is a sentence that says so.
"""
