"""What source files define, by their syntax."""
