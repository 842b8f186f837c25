"""The window in Tk, which tells nothing of itself. Run by the system's Python."""

from __future__ import annotations

import tkinter as tk


def tell(*words: object) -> None:
    print(*words, flush=True)


root = tk.Tk()
root.title("World Tk")
root.geometry("420x620+100+60")
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
tk.Button(root, text="Disabled", state="disabled", command=lambda: tell("disabled")).pack()
tk.Button(root, text="Save", command=lambda: (label.config(text="could not save"), tell("save failed"))).pack()
tk.Button(root, text="Keep", command=lambda: tell("keep failed")).pack()
sealed = tk.Entry(root)
sealed.insert(0, "sealed words")
sealed.configure(state="readonly")
sealed.pack()
size = tk.StringVar(value="Small")
for word in ("Small", "Large"):
    tk.Radiobutton(root, text=word, variable=size, value=word, command=lambda: tell("size", size.get())).pack()
rows = tk.Listbox(root, height=4, yscrollcommand=lambda first, _last: tell("rows", first))
rows.insert(0, *(f"row {number}" for number in range(40)))
rows.pack()
tk.Label(root, text="Plain words").pack()
hours, ticks = tk.Label(root, text="second 0"), []
hours.pack()


def tick() -> None:
    if ticks:
        ticks.append(0)
        hours["text"] = f"second {len(ticks)}"
        root.after(300, tick)


def starts() -> None:
    ticks.clear() if ticks else ticks.append(0)
    tell("clock", bool(ticks))
    tick()


tk.Button(root, text="Clock", command=starts).pack()
root.after(300, lambda: tell("ready"))
root.mainloop()
