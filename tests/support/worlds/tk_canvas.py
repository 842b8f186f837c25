"""A canvas in Tk that writes down the characters of the keys that it reads, one at a time. Run by the system's Python.

It has no field, takes no paste, and reads keys late: it works for a while on each.
"""

import time
import tkinter as tk

WORK_S = 0.01


def key(event: "tk.Event[tk.Canvas]") -> None:
    until = time.perf_counter() + WORK_S
    while time.perf_counter() < until:
        pass
    if event.char:
        print("key", ord(event.char), flush=True)


root = tk.Tk()
root.title("Drawing")
canvas = tk.Canvas(root, width=400, height=200)
canvas.pack()
canvas.bind("<Key>", key)
canvas.focus_set()
root.after(300, lambda: print("ready", flush=True))
root.mainloop()
