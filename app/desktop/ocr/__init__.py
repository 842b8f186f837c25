"""Read text from pixels, for programs that report nothing about themselves."""
