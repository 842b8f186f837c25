"""The tools: one registry, one executor, one module per family. Families do not know each other."""
