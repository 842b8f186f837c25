"""What the presence shares with the desktop: tray, hotkey, autostart, notifications, speech, crash reports."""
