"""The presence. The only place with Qt."""
