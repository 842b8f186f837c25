"""The look of everything: tokens, fonts, icons and motion."""
