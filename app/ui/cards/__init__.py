"""Cards: one for each call, all of one anatomy."""
