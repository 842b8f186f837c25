"""Windows: checked by types, not yet run on a machine of ours."""
