"""The window in Tk, which tells nothing of itself. Run by the system's Python."""

from __future__ import annotations

import tkinter as tk


def tell(*words: object) -> None:
    print(*words, flush=True)


root = tk.Tk()
root.title("World Tk")
root.geometry("420x300+100+100")
label = tk.Label(root, text="count 0")
count = tk.IntVar()


def counted() -> None:
    count.set(count.get() + 1)
    label["text"] = f"count {count.get()}"
    tell("count", count.get())


agree, name = tk.BooleanVar(), tk.StringVar()
name.trace_add("write", lambda *_: tell("name", name.get()))
tk.Button(root, text="Count", command=counted).pack()
tk.Button(root, text="Dead").pack()
label.pack()
tk.Checkbutton(root, text="Agree", variable=agree, command=lambda: tell("agree", agree.get())).pack()
tk.Entry(root, textvariable=name).pack()
root.after(300, lambda: tell("ready"))
root.mainloop()
