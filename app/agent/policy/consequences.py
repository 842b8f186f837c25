"""What pressing a control means, by its words and its role."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control

_LONGEST_CHARS = 200
_WORD = re.compile(r"[\w'’]+")
_MONEY = re.compile(
    r"[$€£¥₽₹₩₺₴]|\b\d+[.,]\d\d\b(?![.,:]\d)|\b(?:EUR|USD|GBP|CHF|JPY|CNY|RUB|INR|SEK|DKK|NOK|PLN|BTC|ETH)\b"
)
_AMOUNT = re.compile(
    r"[$€£¥₽₹₩₺₴]\s?\d|\d\s?[$€£¥₽₹₩₺₴]"
    r"|\b(?:eur|usd|gbp|chf|jpy|cny|rub|inr|sek|dkk|nok|pln|btc|eth)\s?\d"
    r"|\d\s?(?:eur|usd|gbp|chf|jpy|cny|rub|inr|sek|dkk|nok|pln|btc|eth|euros?|dollars?|pounds?|francs?|franken)\b"
)
_SPACED = re.compile(r"\b[^\W\d](?:[\s.\-*·|/]+[^\W\d]){2,}\b|[a-z]\d[a-z]{2,}")
"""Letters with signs between them, or with a digit for one."""
_SPLIT_CHARS = 5
_ALPHABETS = frozenset({"LATIN", "CYRILLIC"})
_LOOKALIKES = str.maketrans("аеорсухіјѕԁһԛԝɡ", "aeopcyxijsdhqwg")
"""Cyrillic letters that look like Latin ones."""
_BUTTON, _LINES = "button", ("entry", "text")
_DOTS = ("…", "...")
_MENU, _TERMINAL, _EDITABLE, _READ_ONLY = "menu item", "terminal", "editable", "read-only"
_DOTTED_I = "i\u0307"
"""What the Turkish capital becomes without case."""
_PICTURES = ("So", "Co", "Cn")
"""Symbols, such as a waste bin, and signs of icon fonts. They have no words."""


def meaning_of(role: str, name: str) -> frozenset[str]:
    """The consequences of pressing a control of that role and name; none where its words say nothing."""
    group = _group(role)
    plain = comparable(name)
    if group is None or not plain or (role.endswith(_MENU) and plain.endswith(_DOTS)):
        return frozenset()
    spelled = _folded(plain)
    is_pressed = is_pressed_role(role) or role in table("controls")["names"]["roles"]
    unsure = frozenset({Consequence.UNKNOWN} if is_pressed and _is_unsure(role, spelled) else ())
    if len(_WORD.findall(spelled)) > group:
        return unsure | (frozenset({Consequence.UNKNOWN}) if is_pressed and _matters(role, spelled) else frozenset())
    return unsure | _kinds_in(spelled)


def _matters(role: str, plain: str) -> bool:
    """Whether a long name holds consequential words. A link may be a headline or a title that only speaks of them."""
    if is_pressed_role(role):
        return bool(_kinds_in(plain))
    words = _WORD.findall(plain)
    asks = words[0] in table("controls")["names"]["asks"]
    return not asks and Consequence.IRREVERSIBLE in _kinds_in(plain)


def _is_unsure(role: str, plain: str) -> bool:
    """Whether a name is unknown: it is spelled oddly, belongs to no known language, or names an amount of money."""
    known = table("controls")["names"]
    words = _WORD.findall(plain)
    is_alone = not role.endswith(_MENU) and " ".join(words) in known["alone"]
    is_split = len(words) > 1 and "".join(words) in _single_words()
    return (
        is_alone
        or is_split
        or any(sign.isalpha() and not _is_of_known_language(sign) for sign in plain)
        or any(len(set(map(_alphabet, word)) & _ALPHABETS) > 1 for word in words)
        or _AMOUNT.search(plain) is not None
        or _SPACED.search(plain) is not None
        or bool(set(words) & frozenset(known["words"]))
    )


def _alphabet(sign: str) -> str:
    return unicodedata.name(sign, "").split(" ", maxsplit=1)[0]


def _is_of_known_language(sign: str) -> bool:
    """Whether a letter is of a language that the tables have words of."""
    letters = table("controls")["scripts"]["letters"]
    return _is_read(sign) and (sign in letters or sign.isascii() or _alphabet(sign) not in _ALPHABETS)


def _folded(plain: str) -> str:
    """With words of letters that only look like Latin ones spelled in Latin."""
    return _WORD.sub(lambda found: _in_latin(found.group()), plain)


def _in_latin(word: str) -> str:
    spelled = word.translate(_LOOKALIKES)
    return spelled if spelled.isascii() else word


@cache
def _single_words() -> frozenset[str]:
    """The longer words that mean something, to know them where blanks are put between their letters."""
    return frozenset(phrase[0] for phrase, _ in _phrases() if len(phrase) == 1 and len(phrase[0]) >= _SPLIT_CHARS)


def meaning_in(role: str, name: str, around: Control) -> frozenset[str]:
    """The consequences of pressing a control of that role and name, with the words of the dialog around it."""
    own = meaning_of(role, name) | (_in_mail(name, around) if is_pressed_role(role) else frozenset())
    if own - {Consequence.UNKNOWN} or role not in table("controls")["dialogs"]["roles"]:
        return own
    spoken = comparable(name).rstrip(".…!")
    affirms = not spoken or spoken in _spoken("affirms")
    if spoken in _spoken("harmless") or not (around.is_dialog or affirms):
        return own
    says_yes = affirms or bool(_spoken("affirms").intersection(_WORD.findall(spoken)[:1]))
    is_yes = spoken in _spoken("yes")
    return own | words_of(around) | (asked_by(around, is_yes=is_yes) if says_yes else frozenset())


def _in_mail(name: str, around: Control) -> frozenset[str]:
    is_mail = any(fnmatchcase(around.app.casefold(), pattern) for pattern in table("controls")["mild"]["never"])
    is_unsure = is_mail and comparable(name).rstrip(".…!") in table("controls")["names"]["in_mail"]
    return frozenset({Consequence.UNKNOWN} if is_unsure else ())


def words_of(around: Control) -> frozenset[str]:
    """What the dialog around a control says that it is about."""
    found: set[str] = set()
    for sentence in around.words:
        found |= _kinds_in(comparable(sentence))
    return frozenset(found)


def asked_by(around: Control, *, is_yes: bool = False) -> frozenset[str]:
    """Judge a yes to the questions of a dialog: unknown unless all their words are harmless.

    `is_yes`: the button says yes, so every sentence of the dialog counts as a question.
    """
    known = table("controls")["dialogs"]["questions"]
    asked = (sentence for sentence in around.words if is_yes or _is_question(sentence))
    words = frozenset().union(*map(_spoken_words, asked))
    return frozenset({Consequence.UNKNOWN}) if words - frozenset(known["words"]) else frozenset()


def _is_question(sentence: str) -> bool:
    """Whether it asks, or names an amount of money."""
    is_asked = any(mark in sentence for mark in table("controls")["dialogs"]["questions"]["marks"])
    return is_asked or _MONEY.search(sentence) is not None


def _spoken_words(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(comparable(sentence)))


def press_of(control: Control) -> frozenset[str]:
    """What pressing a control comes to; of unknown effect where it cannot be read."""
    if is_field(control) or (control.is_terminal and control.role in ("", _TERMINAL)):
        return meaning_of(control.role, control.name)
    kinds = meaning_in(control.role, control.name, control)
    if not control.is_known:  # because words that were read off the pixels may be those of a button
        kinds |= meaning_in(_BUTTON, control.name, control) - {Consequence.UNKNOWN}
    return kinds if is_readable(control) else kinds | {Consequence.UNKNOWN}


def started_by(name: str, control: Control) -> frozenset[str]:
    """What an entry or button of that name starts in a program that starts others; one with dots opens a dialog."""
    spoken = comparable(name)
    words = set(_WORD.findall(spoken))
    known = starting_words("words") if control.is_launcher and not control.is_terminal else frozenset[str]()
    known |= starting_words("builds") if control.builds else frozenset()
    is_start = not spoken.endswith(_DOTS) and bool(words & known) and spoken not in starting_words("places")
    pastes = control.is_terminal and bool(words & starting_words("pastes"))
    return frozenset({Consequence.LAUNCHES} if is_start else {Consequence.TERMINAL} if pastes else ())


def is_readable(control: Control) -> bool:
    """Whether what it says of itself is enough to know what pressing it does."""
    if not control.is_known or control.role in table("controls")["roles"]["opaque"]:
        return False
    name = comparable(control.name)
    return not is_pressed_role(control.role) or (bool(name) and all(_is_read(sign) for sign in name))


def is_pressed_role(role: str) -> bool:
    """Whether controls of that role do something when they are pressed."""
    return role in table("controls")["roles"]["pressed"]["roles"]


def is_choice(control: Control) -> bool:
    """Whether the wheel and the arrows change what it stands at."""
    return control.role in table("controls")["choices"]


def choice_of(control: Control) -> frozenset[str]:
    """What changing a choice or a slider comes to: a press of a button of its label."""
    return press_of(replace(control, role=_BUTTON, states=frozenset()))


def is_password(control: Control) -> bool:
    return control.role in table("controls")["roles"]["passwords"]


def is_field(control: Control) -> bool:
    """Whether text can be typed there: by its role, unless it says that it is read only, or by what it says itself."""
    if _EDITABLE in control.states:
        return True
    is_shown_only = _READ_ONLY in control.states
    return control.role in table("controls")["roles"]["fields"] and not is_shown_only


def names_item(control: Control) -> str:
    """What a dialog of a program that starts others gives a name to, if the control confirms it: "renames", "folders".

    Its title and its default button must both say so: a dialog that runs, opens or makes a launcher of what is typed
    has another title or button. Empty for every other control.
    """
    is_button = is_pressed_role(control.role)
    is_there = control.is_launcher and control.is_known and control.is_dialog and (is_button or is_line(control))
    if not is_there or control.is_terminal or control.builds or control.is_menu_open:
        return ""
    known = table("launchers")["names"]
    label = comparable(control.name if is_button else control.default)
    if label not in known["buttons"] and label not in _spoken("affirms"):
        return ""
    words = plain_words(control.window)
    kinds = ("renames", "folders")
    return next((kind for kind in kinds if any(_begins(words, title) for title in known[kind])), "")


def _begins(words: tuple[str, ...], title: str) -> bool:
    begin = plain_words(title)
    return words[: len(begin)] == begin


def is_line(control: Control) -> bool:
    """Whether it is a field that takes a line of text."""
    return control.role in _LINES and is_field(control)


def sends_on_return(control: Control) -> bool:
    """Whether Return in a field of this program reaches the network."""
    app = control.app.casefold()
    return any(fnmatchcase(app, pattern) for pattern in table("controls")["submits"]["apps"])


def is_address_bar(control: Control) -> bool:
    """Whether it is an address bar: Return opens the address in it."""
    name = comparable(control.name)
    bars = table("controls")["submits"]["address_bars"]
    return sends_on_return(control) and is_field(control) and any(fnmatchcase(name, bar) for bar in bars)


def plain_words(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared."""
    return tuple(_WORD.findall(comparable(name)))


def only_affirms(name: str) -> bool:
    """Whether a button of that name only says yes to what its dialog says."""
    return comparable(name).rstrip(".…!") in _spoken("affirms")


def says_save(name: str) -> bool:
    """Whether a button or a dialog of that name saves a file."""
    return comparable(name).rstrip(".…!") in _spoken("saves")


def is_affirming(control: Control) -> bool:
    """Whether its words affirm a dialog, save a file, or are unknown."""
    spoken = comparable(control.name).rstrip(".…!")
    return not control.is_known or (
        is_pressed_role(control.role) and (not spoken or spoken in _spoken("affirms") | _spoken("saves"))
    )


def is_mild(control: Control) -> bool:
    """Whether its name alone says little: "Share", or a box to tick, that no dialog says more about."""
    if control.is_dialog or not control.is_known or not control.place or words_of(control):
        return False
    known = table("controls")["mild"]
    app = control.app.casefold()
    if not app or any(fnmatchcase(app, pattern) for pattern in known["never"]):
        return False
    is_shown = control.role in known["roles"] or comparable(control.name).rstrip(".…!") in known["names"]
    return is_shown and not sends_on_return(control)


def _group(role: str) -> int | None:
    """How many words a name of this role may have to be judged; None where the role says that it is no control."""
    roles = table("controls")["roles"]
    for group in (roles["pressed"], roles["perhaps"]):
        if role in group["roles"]:
            return int(group["most_words"])
    return None


@cache
def _phrases() -> tuple[tuple[tuple[str, ...], frozenset[str]], ...]:
    return tuple(_listed())


def _listed() -> Iterator[tuple[tuple[str, ...], frozenset[str]]]:
    for entry in table("controls")["words"].values():
        kinds = frozenset(entry["kinds"])
        for language, phrases in entry.items():
            if language != "kinds":
                for phrase in phrases:
                    yield tuple(_WORD.findall(comparable(phrase))), kinds


def _kinds_in(plain: str) -> frozenset[str]:
    words = tuple(_WORD.findall(plain))
    found: set[str] = set()
    for phrase, kinds in _phrases():
        if _holds(words, phrase) or (_is_unspaced(phrase) and phrase[0] in plain):
            found |= kinds
    return frozenset(found)


@cache
def starting_words(kind: str) -> frozenset[str]:
    """What starts things in programs that start others, in all languages."""
    return frozenset(word for words in table("launchers")[kind].values() for word in words)


@cache
def _spoken(kind: str) -> frozenset[str]:
    """What buttons of dialogs are called in all languages."""
    entries = table("controls")["dialogs"][kind]
    return frozenset(comparable(phrase) for phrases in entries.values() for phrase in phrases)


def _is_read(sign: str) -> bool:
    """Whether a sign is of a script that the tables have words of, or says nothing by itself."""
    if unicodedata.category(sign) in _PICTURES:
        return False
    return not sign.isalpha() or unicodedata.name(sign, "").startswith(tuple(table("controls")["scripts"]["read"]))


def comparable(name: str) -> str:
    """Compared without case, marks of mnemonics, invisible signs and blanks at the ends."""
    text = unicodedata.normalize("NFKC", name[:_LONGEST_CHARS].replace("…", "\0")).replace("\0", "…").casefold()
    shown = (sign for sign in text.replace(_DOTTED_I, "i") if sign not in "_&" and unicodedata.category(sign) != "Cf")
    return "".join(shown).replace("’", "'").strip()


def _holds(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    size = len(phrase)
    return any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


def _is_unspaced(phrase: tuple[str, ...]) -> bool:
    """Whether the script puts no blanks between words."""
    first = unicodedata.name(phrase[0][0], "") if len(phrase) == 1 else ""
    return first.startswith(("CJK", "HIRAGANA", "KATAKANA"))
