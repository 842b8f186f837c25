"""The tools: one registry, one executor, and one module per family. No family imports another."""
