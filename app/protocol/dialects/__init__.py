"""Three ways to write the same calls: inline XML, JSON batches, native tool use."""
