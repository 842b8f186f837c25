"""Approvals: questions about calls that wait for the person."""
