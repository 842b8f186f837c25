"""A Tk window made of its arguments: TITLE KIND:NAME…; prints what happens to it. Tk describes nothing to others."""

import sys
import tkinter


def say(*words):
    print(*words, flush=True)


def button(name):
    return tkinter.Button(window, text=name, height=2, command=lambda: say("pressed", name))


def focused(name):
    made = button(name)
    made.focus_force()
    return made


def entry(name, show=""):
    kept = tkinter.StringVar()
    kept.trace_add("write", lambda *_: say("value", name, kept.get()))
    made = tkinter.Entry(window, textvariable=kept, show=show)
    made.focus_force()
    return made


def send(name):
    made = entry(name)
    made.bind("<Return>", lambda _: say("sent", made.get()))
    return made


def text(name):
    made = tkinter.Text(window, height=5, width=40)
    made.insert("end", name)
    made.bind("<KeyRelease>", lambda _: say("text", made.get("1.0", "end").strip().replace("\n", "|")))
    made.focus_force()
    return made


def check(name):
    on = tkinter.BooleanVar()
    return tkinter.Checkbutton(window, text=name, variable=on, command=lambda: say("checked", name, on.get()))


def slider(name):
    return tkinter.Scale(window, label=name, orient="horizontal", command=lambda n: n != "0" and say("slid", name, n))


def rows(name):
    made = tkinter.Listbox(window, height=5)
    made.insert("end", *name.split(","))
    made.bind("<<ListboxSelect>>", lambda _: say("row", *(made.get(n) for n in made.curselection())))
    return made


def canvas(name):
    made = tkinter.Canvas(window, width=300, height=150, bg="white")
    made.bind("<Button-1>", lambda e: say(name, "point", e.x, e.y))
    made.bind("<B1-Motion>", lambda e: say(name, "drag", e.x, e.y))
    made.bind("<Button-4>", lambda _: say(name, "wheel"))
    made.bind("<Button-5>", lambda _: say(name, "wheel"))
    made.bind("<Key>", lambda e: say(name, "key", e.keysym))
    made.focus_force()
    return made


def key(name):
    wanted, what = name.split("=")
    window.bind(f"<{wanted}>", lambda _: say("pressed", what))


def menu(name):
    top, leaf = name.split("/")
    if top not in menus:
        menus[top] = tkinter.Menu(bar, tearoff=0)
        bar.add_cascade(label=top, underline=0, menu=menus[top])
    menus[top].add_command(label=leaf, underline=0, command=lambda: say("chosen", leaf))
    window.config(menu=bar)


MADE = {
    "button": button, "focused": focused, "entry": entry, "password": lambda name: entry(name, "*"), "send": send,
    "text": text, "check": check, "slider": slider, "rows": rows, "canvas": canvas, "key": key, "menu": menu,
    "label": lambda name: tkinter.Label(window, text=name),
}  # fmt: skip
window = tkinter.Tk()
window.title(sys.argv[1])
window.geometry("420x300+300+200")
bar, menus = tkinter.Menu(window), {}
for argument in sys.argv[2:]:
    kind, _, what = argument.partition(":")
    widget = MADE[kind](what)
    if widget:
        widget.pack(fill="x", padx=8, pady=3)
window.mainloop()
