"""What the presence uses of the desktop: tray, summon key, autostart, notifications, speech, crash reports."""
