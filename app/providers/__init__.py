"""Connections to models. Each provider streams a model's text and calls for one request."""
