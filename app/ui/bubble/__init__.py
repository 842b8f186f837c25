"""The say bubble: its window, the thread in it, and the rows that are not cards."""
