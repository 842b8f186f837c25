"""What programs report about their own windows. In comes a window; `atspi.py` asks its program over D-Bus, `outline.py`
makes lines of the answer, and `surfaces.py` finds the places on Wayland. Out go elements with role, name, state and
place, and the changes that programs report.
"""
