"""What models say and hear: tool shapes, calls, results, and the dialects that carry them. Pure: no I/O."""
