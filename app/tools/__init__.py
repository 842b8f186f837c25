"""The tools: one registry, one executor, and one module a family. In comes a call; the executor gives it to the
family's handler, whose constructor names exactly the services that it may touch. Out goes a `ToolResult`: facts, the
card's data, what the model reads. No family imports another.
"""
