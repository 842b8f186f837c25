"""The way to the network for everything a model may choose the address of."""
