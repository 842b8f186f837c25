"""A text field in Tk that writes down what it holds: closing_field.py TITLE PLACE [LETTERS]

It closes once it holds that many letters. Run by the system's Python.
"""

from __future__ import annotations

import sys
import tkinter as tk

title, place, *letters = sys.argv[1:]
root = tk.Tk()
root.title(title)
root.geometry(place)
text = tk.StringVar()


def changed(*_: str) -> None:
    print(text.get(), flush=True)
    if letters and len(text.get()) >= int(letters[0]):
        root.destroy()


field = tk.Entry(root, textvariable=text)
field.pack()
field.focus_set()
text.trace_add("write", changed)
root.after(300, lambda: print("ready", flush=True))
root.mainloop()
