"""Text from pixels, for programs that report nothing about themselves. In comes a picture; a process of its own reads
it (`worker.py`). Out go words with their places, as elements like those that programs report.
"""
