"""What every layer may use, and what uses no layer: facts, errors, geometry, clock, paths, ids, phrases, resources.
Values and functions; nothing here knows a model, a desktop or a person's settings.
"""
