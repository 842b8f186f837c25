"""Calls that wait for the person."""
