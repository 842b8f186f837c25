"""What runs in the terminal: it reads lines and writes down each that it got. `WORLD_TELLS` is where it writes to."""

import os
import sys
import termios

with open(os.environ["WORLD_TELLS"], "w", encoding="utf-8") as told:

    def tell(*words: object) -> None:
        print(*words, file=told, flush=True)

    def echo(is_on: bool) -> None:
        modes = termios.tcgetattr(0)
        modes[3] = modes[3] | termios.ECHO if is_on else modes[3] & ~termios.ECHO
        termios.tcsetattr(0, termios.TCSANOW, modes)

    print("Show note")
    tell("ready")
    for line in sys.stdin:
        word = line.strip()
        tell("line", word)
        if word == "draw":
            print("drawn")
        if word in ("hide", "show"):
            echo(word == "show")
        if word == "title":
            print("\033]2;World renamed\007", end="", flush=True)
        if word == "fail":
            print("cannot do that")
