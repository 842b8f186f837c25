"""What models write and read: tool specs, calls, results, messages, and the dialects that carry them. In comes text in
chunks of any size; out go blocks that `arguments.py` makes typed calls of, and messages for the next request. Pure: no
I/O, no other library.
"""
