"""Cards: one for each call, all with the same parts."""
