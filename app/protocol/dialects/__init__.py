"""Three ways to write the same calls: XML inside the text, JSON batches, and the vendor's native tool use."""
