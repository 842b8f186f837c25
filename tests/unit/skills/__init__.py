"""Tests of the skills."""
