"""Decide what pressing a control would do, by its words and its role.

Programs name their controls through AT-SPI (roles: https://docs.gtk.org/atspi2/enum.Role.html). The words that send,
delete, pay or grant are in `resources/policy/controls.toml`, in 18 languages; a name that cannot be read is unknown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from app.agent.policy import terminals
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control, Kinds
from app.base.texts import alphabet, in_latin

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
"""Letters with signs between them, or with a digit for one: "D e l e t e", "de1ete"."""
_SPLIT_CHARS = 5
_CLAUSE = re.compile(r"[:,;?!]\s|\s[-–—|]\s")
_ALPHABETS = frozenset({"LATIN", "CYRILLIC"})
_BUTTON, _LINK, _LINES = "button", "link", ("entry", "text")
_DOTS = ("…", "...")
_MENU, _TERMINAL, _EDITABLE, _READ_ONLY = "menu item", "terminal", "editable", "read-only"
_DOTTED_I = "i\u0307"
"""What the Turkish capital I with a dot becomes without case (https://www.unicode.org/Public/UNIDATA/SpecialCasing.txt)."""
_PICTURES = ("So", "Co", "Cn")
"""Symbols, such as a waste bin, and signs of icon fonts. They have no words."""


def meaning_of(role: str, name: str) -> Kinds:
    """Return the consequences of pressing a control with that role and name; none if its words say nothing."""
    group = _group(role)
    plain = comparable(name)
    if group is None or not plain or (role.endswith(_MENU) and plain.endswith(_DOTS)):
        return frozenset()
    spelled = in_latin(plain)
    is_pressed = is_pressed_role(role) or role in table("controls")["names"]["roles"]
    unsure = frozenset({Consequence.UNKNOWN} if is_pressed and _is_unsure(role, spelled) else ())
    if len(_WORD.findall(spelled)) > group:
        return unsure | (frozenset({Consequence.UNKNOWN}) if is_pressed and _matters(role, spelled) else frozenset())
    return unsure | _kinds_in(spelled)


def _matters(role: str, plain: str) -> bool:
    """Return whether a long name announces consequences. A link's name may be a headline that only mentions them."""
    return bool(_kinds_in(plain)) if is_pressed_role(role) else any(map(_is_deed, _CLAUSE.split(plain)))


def _is_deed(clause: str) -> bool:
    """Return whether a part of a headline is an order ("Give Eve access") or names a destruction, and does not ask."""
    words = tuple(_WORD.findall(clause))
    if not words or words[0] in table("controls")["names"]["asks"]:
        return False
    told = any(words[0] == one[0] and set(one) <= set(words) for one, _ in _phrases())
    return told or Consequence.IRREVERSIBLE in _kinds_in(clause)


def _is_unsure(role: str, plain: str) -> bool:
    """Return whether a name is unknown: oddly spelled, of no known language, or an amount of money."""
    known = table("controls")["names"]
    words = _WORD.findall(plain)
    is_alone = not role.endswith(_MENU) and " ".join(words) in known["alone"]
    is_split = len(words) > 1 and "".join(words) in _single_words()
    return (
        is_alone
        or is_split
        or any(sign.isalpha() and not _is_of_known_language(sign) for sign in plain)
        or any(len(set(map(alphabet, word)) & _ALPHABETS) > 1 for word in words)
        or _AMOUNT.search(plain) is not None
        or _SPACED.search(plain) is not None
        or bool(set(words) & frozenset(known["words"]))
    )


def _is_of_known_language(sign: str) -> bool:
    """Return whether the tables have words of a language that is written with this letter."""
    letters = table("controls")["scripts"]["letters"]
    return _is_read(sign) and (sign in letters or sign.isascii() or alphabet(sign) not in _ALPHABETS)


@cache
def _single_words() -> frozenset[str]:
    """Return the longer words with a meaning, to recognise them with blanks between their letters."""
    return frozenset(phrase[0] for phrase, _ in _phrases() if len(phrase) == 1 and len(phrase[0]) >= _SPLIT_CHARS)


def own_meaning(role: str, name: str, around: Control) -> Kinds:
    """Return the consequences of pressing the control as its own name describes them.

    In a web page, pressing an element of any role may act, and a choice may be saved at once.
    """
    if not sends_on_return(around):
        return meaning_of(role, name)
    pages = table("controls")["pages"]
    if role in pages["choices"]:
        return meaning_of(role, name) | meaning_of(_BUTTON, name) | _of_audience(name)
    return meaning_of(_LINK if _group(role) is None and role not in pages["inert"] else role, name)


def _of_audience(name: str) -> Kinds:
    """Return UNKNOWN if the text of a choice or dialog decides who may see something, else nothing."""
    words = plain_words(name)
    is_public = any(_holds(words, plain_words(phrase)) for phrase in table("controls")["pages"]["audience"])
    return frozenset({Consequence.UNKNOWN} if is_public else ())


def meaning_in(role: str, name: str, around: Control) -> Kinds:
    """Return the consequences of pressing a control with that role and name, inside its dialog."""
    own = own_meaning(role, name, around) | _in_mail(role, name, around) | terminals.of_setting(role, around)
    if own - {Consequence.UNKNOWN} or role not in table("controls")["dialogs"]["roles"]:
        return own
    label = _label(name)
    affirms = not label or label in _labels("affirms")
    if is_news(around):
        return own
    is_meant = label in _labels("harmless") and _is_meant(label, around)
    if label in _labels("harmless") and not is_meant:
        return own | (_given_up(around) if label in _labels("no") else frozenset())
    said = around.scene.words or around.scene.near
    is_message, is_asking = around.scene.is_message, any(map(_is_question, said))
    if not (around.window.is_dialog or affirms or is_meant or (is_message and is_asking)):
        return own.union(*map(_kinds_in, map(comparable, filter(_is_question, around.scene.words))))
    is_answer = is_message or is_asking or affirms or is_meant or _begins_yes(label)
    told = frozenset() if affirms or is_meant else _words_in(name)
    asked = asked_by(said, told, is_yes=is_message or label in _labels("yes"))
    return own | words_of(said) | (asked if is_answer else frozenset())


def _begins_yes(label: str) -> bool:
    return not _labels("affirms").isdisjoint(_WORD.findall(label)[:1])


def is_news(around: Control) -> bool:
    """Return whether a dialog only informs: it asks nothing, and its one button says that this was read."""
    is_alone = around.scene.is_message and len(around.scene.buttons) == 1
    asks = any(
        mark in said for said in around.scene.words for mark in table("controls")["dialogs"]["questions"]["marks"]
    )
    return is_alone and not asks and _label(around.scene.buttons[0]) in _labels("acknowledges")


def _is_meant(label: str, around: Control) -> bool:
    """Return whether a button such as Cancel is no way out: it is what the dialog asks about, or its only button."""
    if len(around.scene.buttons) == 1:
        return True
    asked = filter(_is_question, around.scene.words) if label not in _labels("no") | _labels("saves") else ()
    return any(_holds(plain_words(sentence), tuple(_WORD.findall(label))) for sentence in asked)


def of_closing(control: Control) -> Kinds:
    """Return the consequences of closing a window: it may answer a dialog, or end a program in a terminal."""
    ends = control.window.is_terminal and control.window.is_occupied
    return of_leaving(control) | frozenset({Consequence.UNKNOWN} if ends else ())


def of_leaving(control: Control) -> Kinds:
    """Return the consequences of closing a dialog or pressing Escape. If it has no other way out, both answer no."""
    labels = frozenset(map(_label, control.scene.buttons))
    ways_out = labels & (_labels("harmless") - _labels("saves"))
    return _given_up(control) if ways_out and ways_out <= _labels("no") else frozenset()


def _given_up(around: Control) -> Kinds:
    """Return IRREVERSIBLE if the dialog asks whether to keep, save or stop something: a no may lose it."""
    undoes = table("controls")["dialogs"]["questions"]["undoes"]
    asked = frozenset().union(*map(_words_in, filter(_is_question, around.scene.words)))
    is_asked = any(word in asked or (_is_unspaced((word,)) and word in "".join(asked)) for word in undoes)
    return frozenset({Consequence.IRREVERSIBLE} if is_asked else ())


def _in_mail(role: str, name: str, around: Control) -> Kinds:
    is_mail = is_pressed_role(role) and any(
        fnmatchcase(around.window.app.casefold(), pattern) for pattern in table("controls")["mild"]["never"]
    )
    is_unsure = is_mail and _label(name) in table("controls")["names"]["in_mail"]
    return frozenset({Consequence.UNKNOWN} if is_unsure else ())


def words_of(said: Iterable[str]) -> Kinds:
    """Return the consequences that the words of the sentences around a control suggest."""
    return frozenset().union(*(_kinds_in(comparable(one)) | _of_audience(one) for one in said))


def asked_by(said: Iterable[str], told: frozenset[str] = frozenset(), *, is_yes: bool = False) -> Kinds:
    """Return UNKNOWN unless all words of the questions among these sentences are harmless.

    `told` are words of the answer itself, judged as well. With `is_yes`, every sentence counts as a question.
    """
    words = told.union(*(_words_in(one) for one in said if is_yes or _is_question(one)))
    return frozenset({Consequence.UNKNOWN} if words - _harmless_words() else ())


@cache
def _harmless_words() -> frozenset[str]:
    return frozenset(table("controls")["dialogs"]["questions"]["words"])


def _is_question(sentence: str) -> bool:
    """Return whether a sentence of a dialog asks something, or names an amount of money."""
    is_asked = any(mark in sentence for mark in table("controls")["dialogs"]["questions"]["marks"])
    return is_asked or _MONEY.search(sentence) is not None


def _words_in(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(comparable(sentence)))


def press_of(control: Control) -> Kinds:
    """Return the consequences of pressing a control; unknown if the control cannot be read."""
    inside = terminals.of_press(control)
    if is_field(control) or (control.window.is_terminal and control.role in ("", _TERMINAL)):
        return inside | meaning_of(control.role, control.name)
    kinds = inside | meaning_in(control.role, control.name, control)
    if not control.is_known:  # because words that were read off the pixels may be those of a button
        kinds |= meaning_in(_BUTTON, control.name, control) - {Consequence.UNKNOWN}
    return kinds if is_readable(control) else kinds | {Consequence.UNKNOWN}


def started_by(name: str, control: Control) -> Kinds:
    """Return LAUNCHES if an entry or button with that name starts something, TERMINAL if it pastes in a terminal."""
    plain = comparable(name)
    words = set(_WORD.findall(plain))
    known = starting_words("words") if control.window.opens_items else frozenset[str]()
    known |= starting_words("builds") if control.window.builds else frozenset()
    is_start = not plain.endswith(_DOTS) and bool(words & known) and plain not in starting_words("places")
    is_start = is_start or _sets_up(_label(name), control)
    pastes = control.window.is_terminal and bool(words & starting_words("pastes"))
    return frozenset({Consequence.LAUNCHES} if is_start else {Consequence.TERMINAL} if pastes else ())


def _sets_up(label: str, control: Control) -> bool:
    """Return whether a yes of that name may set up a command: in a dialog with text fields of a program that starts
    others, which is not known to ask for a name, a search or a file.
    """
    if not (control.window.opens_items and control.window.is_dialog) or control.scene.fields == ():
        return False
    if label not in _labels("affirms") | _labels("saves") or names_item(replace(control, role=_BUTTON, name=label)):
        return False
    words = plain_words(control.window.title)
    return not any(_begins(words, title) for title in table("launchers")["names"]["harmless"])


def is_readable(control: Control) -> bool:
    """Return whether the control describes itself well enough to know what pressing it does."""
    if not control.is_known or control.role in table("controls")["roles"]["opaque"]:
        return False
    name = comparable(control.name)
    return not is_pressed_role(control.role) or (bool(name) and all(_is_read(sign) for sign in name))


def is_pressed_role(role: str) -> bool:
    """Return whether pressing a control of that role does something."""
    return role in table("controls")["roles"]["pressed"]["roles"]


def is_choice(control: Control) -> bool:
    """Return whether the wheel and the arrow keys change the control's value."""
    return control.role in table("controls")["choices"]


def choice_of(control: Control) -> Kinds:
    """Return the consequences of changing a choice or a slider: those of pressing a button with its label."""
    is_other = control.role in table("controls")["pages"]["neighbours"]
    unsure = frozenset({Consequence.UNKNOWN} if is_other else ()) | _of_audience(control.name)
    pressed = terminals.of_press(control) | press_of(replace(control, role=_BUTTON, states=frozenset()))
    return pressed | unsure if sends_on_return(control) else pressed


def is_password(control: Control) -> bool:
    return control.role in table("controls")["roles"]["passwords"]


def is_field(control: Control) -> bool:
    """Return whether the control takes typed text: by its role (unless it is read only), or by its own description."""
    if _EDITABLE in control.states:
        return True
    is_shown_only = _READ_ONLY in control.states
    return control.role in table("controls")["roles"]["fields"] and not is_shown_only


def names_item(control: Control) -> str:
    """Return what the dialog gives a name to when it is confirmed: "renames", "folders"; "" for any other control.

    The dialog belongs to a program that starts others. Both its title and its default button must say so: a dialog that
    runs or opens what is typed, or makes a launcher of it, has another title or button.
    """
    is_button = is_pressed_role(control.role)
    is_there = control.window.opens_items and control.window.is_dialog and control.is_known
    if not is_there or control.window.builds or control.scene.is_menu_open or not (is_button or is_line(control)):
        return ""
    known = table("launchers")["names"]
    label = comparable(control.name if is_button else control.scene.default)
    if label not in known["buttons"] and label not in _labels("affirms"):
        return ""
    words = plain_words(control.window.title)
    kinds = ("renames", "folders")
    return next((kind for kind in kinds if any(_begins(words, title) for title in known[kind])), "")


def _begins(words: tuple[str, ...], title: str) -> bool:
    begin = plain_words(title)
    return words[: len(begin)] == begin


def is_line(control: Control) -> bool:
    """Return whether the control is a text field of one line."""
    return control.role in _LINES and is_field(control)


def sends_on_return(control: Control) -> bool:
    """Return whether Return in a field of this program reaches the network."""
    return any(fnmatchcase(control.window.app.casefold(), one) for one in table("controls")["submits"]["apps"])


def is_address_bar(control: Control) -> bool:
    """Return whether the control is an address bar: Return opens the address in it."""
    name = comparable(control.name)
    bars = table("controls")["submits"]["address_bars"]
    return sends_on_return(control) and is_field(control) and any(fnmatchcase(name, bar) for bar in bars)


def plain_words(name: str) -> tuple[str, ...]:
    """Return the words of a name, normalised for comparison."""
    return tuple(_WORD.findall(comparable(name)))


def only_affirms(name: str) -> bool:
    """Return whether a button with that name only says yes to the text of its dialog."""
    return _label(name) in _labels("affirms")


def says_save(name: str) -> bool:
    """Return whether a button or a dialog with that name saves a file."""
    return _label(name) in _labels("saves")


def says_nothing_runs(name: str) -> bool:
    """Return whether a button with that name is harmless in every dialog, such as Save or Cancel."""
    return _label(name) in _labels("harmless")


def is_affirming(control: Control) -> bool:
    """Return whether the control's words affirm a dialog, save a file, or are unknown."""
    label = _label(control.name)
    return not control.is_known or (
        is_pressed_role(control.role) and (not label or label in _labels("affirms") | _labels("saves"))
    )


def is_mild(control: Control) -> bool:
    """Return whether only a weak hint such as "Share" or a check box suggests consequences, and no dialog does."""
    if control.window.is_dialog or not control.is_known or not control.window.place or words_of(control.scene.words):
        return False
    known = table("controls")["mild"]
    app = control.window.app.casefold()
    if not app or any(fnmatchcase(app, pattern) for pattern in known["never"]):
        return False
    is_shown = control.role in known["roles"] or _label(control.name) in known["names"]
    return is_shown and not sends_on_return(control)


def _group(role: str) -> int | None:
    """Return the limit of words: a longer name of this role is not judged by its words. None for no control's role."""
    roles = table("controls")["roles"]
    for group in (roles["pressed"], roles["perhaps"]):
        if role in group["roles"]:
            return int(group["most_words"])
    return None


@cache
def _phrases() -> tuple[tuple[tuple[str, ...], Kinds], ...]:
    return tuple(_listed())


def _listed() -> Iterator[tuple[tuple[str, ...], Kinds]]:
    for entry in table("controls")["words"].values():
        kinds = frozenset(map(Consequence, entry["kinds"]))
        for language, phrases in entry.items():
            if language != "kinds":
                for phrase in phrases:
                    yield tuple(_WORD.findall(comparable(phrase))), kinds


def _kinds_in(plain: str) -> Kinds:
    words = tuple(_WORD.findall(plain))
    said = (kinds for one, kinds in _phrases() if _holds(words, one) or (_is_unspaced(one) and one[0] in plain))
    return frozenset().union(*said)


@cache
def starting_words(kind: str) -> frozenset[str]:
    """Return the words, in all languages, that start something in programs that start others."""
    return frozenset(word for words in table("launchers")[kind].values() for word in words)


@cache
def _labels(kind: str) -> frozenset[str]:
    """Return the names of dialog buttons of this kind, in all languages."""
    entries = table("controls")["dialogs"][kind]
    return frozenset(comparable(phrase) for phrases in entries.values() for phrase in phrases)


def _is_read(sign: str) -> bool:
    """Return whether a character is of a script that the tables have words of, or has no meaning alone."""
    if unicodedata.category(sign) in _PICTURES:
        return False
    return not sign.isalpha() or unicodedata.name(sign, "").startswith(tuple(table("controls")["scripts"]["read"]))


def comparable(name: str) -> str:
    """Return the name for comparison: without case, mnemonic marks, invisible characters and blanks at its ends."""
    text = unicodedata.normalize("NFKC", name[:_LONGEST_CHARS].replace("…", "\0")).replace("\0", "…").casefold()
    shown = (sign for sign in text.replace(_DOTTED_I, "i") if sign not in "_&" and unicodedata.category(sign) != "Cf")
    return "".join(shown).replace("’", "'").strip()


def _label(name: str) -> str:
    """Return the name of a button as the tables spell it: without the punctuation at its end."""
    return comparable(name).rstrip(".…!")


def _holds(words: tuple[str, ...], phrase: tuple[str, ...]) -> bool:
    size = len(phrase)
    return any(words[at : at + size] == phrase for at in range(len(words) - size + 1))


def _is_unspaced(phrase: tuple[str, ...]) -> bool:
    """Return whether the script puts no blanks between words."""
    first = unicodedata.name(phrase[0][0], "") if len(phrase) == 1 else ""
    return first.startswith(("CJK", "HIRAGANA", "KATAKANA"))
