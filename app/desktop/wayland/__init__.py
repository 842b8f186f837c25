"""The backend for Wayland compositors of the wlroots family: sway, labwc, Hyprland, Wayfire, river."""
