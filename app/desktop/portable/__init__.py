"""What Windows and macOS share: capture by mss, input by pyautogui and pynput, all loaded on first use."""
