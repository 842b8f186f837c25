"""What models write and read: tool specs, calls, results, and the dialects that carry them. Does no I/O."""
