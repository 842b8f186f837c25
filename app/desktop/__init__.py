"""The desktop: capture, input, windows, programs, accessibility. Knows no protocol and no model."""
