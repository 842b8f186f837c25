"""Eyes and hands: capture, input, windows, programs, accessibility. Knows no protocol and no model."""
