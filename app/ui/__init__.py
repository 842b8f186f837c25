"""The presence: the orb and its windows. Only this package uses Qt."""
