"""What pressing a control means, by its words and its role."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cache

from app.agent.policy.chords import (
    ALT,
    Combination,
    Pressed,
    Stroke,
    bound_combinations,
    combination,
    combinations,
    pressed,
)
from app.agent.policy.sentences import table
from app.agent.policy.values import Consequence, Control
from app.desktop.elements import Binding

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
_DOTS = ("…", "...")
_MENU, _TERMINAL, _EDITABLE, _READ_ONLY = "menu item", "terminal", "editable", "read-only"
_DOTTED_I = "i\u0307"
"""What the Turkish capital becomes without case."""
_PICTURES = ("So", "Co", "Cn")
"""Signs that stand for what nobody reads out: symbols such as a waste bin, and those of icon fonts."""


def meaning_of(role: str, name: str) -> frozenset[str]:
    """The consequences of pressing a control of that role and name; none where its words say nothing."""
    group = _group(role)
    plain = _plain(name)
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
    """Whether nobody knows what a name means: it is spelled oddly, of no known language, or names an amount."""
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
    spoken = _plain(name).rstrip(".…!")
    affirms = not spoken or spoken in _spoken("affirms")
    if spoken in _spoken("harmless") or not (around.is_dialog or affirms):
        return own
    says_yes = affirms or bool(_spoken("affirms").intersection(_WORD.findall(spoken)[:1]))
    is_yes = spoken in _spoken("yes")
    return own | words_of(around) | (_asked_by(around, is_yes=is_yes) if says_yes else frozenset())


def _in_mail(name: str, around: Control) -> frozenset[str]:
    is_mail = any(fnmatchcase(around.app.casefold(), pattern) for pattern in table("controls")["mild"]["never"])
    is_unsure = is_mail and _plain(name).rstrip(".…!") in table("controls")["names"]["in_mail"]
    return frozenset({Consequence.UNKNOWN} if is_unsure else ())


def words_of(around: Control) -> frozenset[str]:
    """What the dialog around a control says that it is about."""
    found: set[str] = set()
    for sentence in around.words:
        found |= _kinds_in(_plain(sentence))
    return frozenset(found)


def _asked_by(around: Control, *, is_yes: bool = False) -> frozenset[str]:
    """What saying yes to the questions of a dialog comes to: nobody knows, unless all their words are harmless.

    All that a dialog says is a question where a button says yes to it.
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
    return frozenset(_WORD.findall(_plain(sentence)))


def press_of(control: Control) -> frozenset[str]:
    """What pressing a control comes to; of unknown effect where it cannot be read."""
    if is_field(control) or (control.is_terminal and control.role in ("", _TERMINAL)):
        return meaning_of(control.role, control.name)
    kinds = meaning_in(control.role, control.name, control)
    return kinds if kinds or is_readable(control) else kinds | {Consequence.UNKNOWN}


def started_by(name: str, control: Control) -> frozenset[str]:
    """What an entry or button of that name starts in a program that starts others; one with dots opens a dialog."""
    spoken = _plain(name)
    words = set(_WORD.findall(spoken))
    known = starting_words("words") if control.is_launcher and not control.is_terminal else frozenset[str]()
    known |= starting_words("builds") if control.builds else frozenset()
    is_start = not spoken.endswith(_DOTS) and bool(words & known)
    pastes = control.is_terminal and bool(words & starting_words("pastes"))
    return frozenset({Consequence.LAUNCHES} if is_start else {Consequence.TERMINAL} if pastes else ())


def is_readable(control: Control) -> bool:
    """Whether what it says of itself is enough to know what pressing it does."""
    if not control.is_known or control.role in table("controls")["roles"]["opaque"]:
        return False
    name = _plain(control.name)
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


def sends_on_return(control: Control) -> bool:
    """Whether Return in a field of this program reaches the network."""
    app = control.app.casefold()
    return any(fnmatchcase(app, pattern) for pattern in table("controls")["submits"]["apps"])


def is_address_bar(control: Control) -> bool:
    """Whether Return opens the address that stands there."""
    name = _plain(control.name)
    bars = table("controls")["submits"]["address_bars"]
    return sends_on_return(control) and is_field(control) and any(fnmatchcase(name, bar) for bar in bars)


def entered(keys: Iterable[Pressed], text: str, control: Control) -> str:
    """What is opened from an address bar; empty where nothing is, or nobody knows what."""
    if not is_address_bar(control):
        return ""
    if _breaks(text):
        return next((line for line in text.splitlines() if line.strip()), control.address)
    return control.address if any(one.holds(_listed_chords("activates", "submits")) for one in keys) else ""


def plain_words(name: str) -> tuple[str, ...]:
    """The words of a name as they are compared."""
    return tuple(_WORD.findall(_plain(name)))


def only_affirms(name: str) -> bool:
    """Whether a button of that name only says yes to what its dialog says."""
    return _plain(name).rstrip(".…!") in _spoken("affirms")


def says_save(name: str) -> bool:
    """Whether a button or a dialog of that name saves a file."""
    return _plain(name).rstrip(".…!") in _spoken("saves")


def presses_save(keys: Iterable[Pressed]) -> bool:
    return any(one.holds(_listed_chords("activates", "saves")) for one in keys)


def is_mild(control: Control) -> bool:
    """Whether its name alone says little: "Share", or a box to tick, that no dialog says more about."""
    if control.is_dialog or not control.is_known or not control.place or words_of(control):
        return False
    known = table("controls")["mild"]
    app = control.app.casefold()
    if not app or any(fnmatchcase(app, pattern) for pattern in known["never"]):
        return False
    is_shown = control.role in known["roles"] or _plain(control.name).rstrip(".…!") in known["names"]
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
                    yield tuple(_WORD.findall(_plain(phrase))), kinds


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
    return frozenset(_plain(phrase) for phrases in entries.values() for phrase in phrases)


def _is_read(sign: str) -> bool:
    """Whether a sign is of a script that the tables have words of, or says nothing by itself."""
    if unicodedata.category(sign) in _PICTURES:
        return False
    return not sign.isalpha() or unicodedata.name(sign, "").startswith(tuple(table("controls")["scripts"]["read"]))


def _plain(name: str) -> str:
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


_BUTTON, _BREAKS = "button", "\n\r"


def may_paste(keys: str) -> bool:
    """Whether these keys might type what was cut, copied or selected."""
    return any(one.holds(_listed_chords("activates", "pastes")) for one in pressed(keys))


def needs_bindings(keys: str) -> bool:
    """Whether it matters which controls of the window keys press: the chords are not known to be harmless anywhere."""
    known = _listed_chords("harmless", "anywhere", "shortcuts")
    return any(stroke.whole not in known for one in pressed(keys) for stroke in one.strokes)


def of_keys(keys: Iterable[Pressed], control: Control, own: Sequence[str] = ()) -> frozenset[str]:
    """What pressing these chords comes to while `control` has the keyboard. `own` are Wisp's own keys."""
    ours = frozenset(combination(one) for one in own if one)
    found: set[str] = set()
    for one in keys:
        found |= _combined(one, ours) | _taken(one, control)
    return frozenset(found)


def of_text(text: str, control: Control) -> frozenset[str]:
    """What typing the text comes to: line breaks press Return, and signs press what no field takes them from."""
    if is_password(control):
        return frozenset({"password"})
    found: set[str] = set()
    if _breaks(text):
        found |= of_keys(pressed("Return"), control)
    if control.is_terminal and any(unicodedata.category(sign) == "Cc" for sign in text):
        found.add(_TERMINAL)
    signs = text.translate({ord(sign): None for sign in _BREAKS})
    return frozenset(found | (_of_signs(signs, control) if signs else set()))


def affirms(aim: str, keys: Sequence[Pressed], text: str, control: Control) -> bool:
    """Whether an act may make a dialog save the file that it names. What nothing describes may be such a dialog."""
    if not control.is_dialog and control.is_known:
        return False
    if aim == "focus":
        if _breaks(text) or any(ALT in stroke.held for one in keys for stroke in one.strokes):
            return True
        is_pressed = any(one.holds(_listed_chords("activates", "presses")) for one in keys) and not is_field(control)
        return any(one.holds(_listed_chords("activates", "submits")) for one in keys) or (
            is_pressed and is_affirming(control)
        )
    return not text and is_affirming(control)


def is_affirming(control: Control) -> bool:
    """Whether its words affirm a dialog or save a file, or nobody knows what they say."""
    spoken = _plain(control.name).rstrip(".…!")
    return not control.is_known or (
        is_pressed_role(control.role) and (not spoken or spoken in _spoken("affirms") | _spoken("saves"))
    )


def of_paste(control: Control) -> frozenset[str]:
    """Judge a paste as typing the pasted text. Unknown text counts as one with a line break."""
    if control.runs_programs:
        return frozenset({"password"} if is_password(control) else {_TERMINAL})
    return of_text("x\n" if control.pasted is None else control.pasted, control)


def of_drop(control: Control) -> frozenset[str]:
    """What letting go of something there comes to: terminals and launchers take it as words."""
    if is_password(control):
        return frozenset({"password"})
    return frozenset({_TERMINAL} if control.runs_programs else ())


def _breaks(text: str) -> bool:
    return any(sign in text for sign in _BREAKS)


def _taken(one: Pressed, control: Control) -> frozenset[str]:
    """What a chord comes to where it lands."""
    if is_password(control):
        return _in_password(one, control)
    found: frozenset[str] = frozenset()
    submits = () if _is_choosing(control) else ("submits",)
    if control.runs_programs and one.holds(_listed_chords("activates", "pastes", *submits)):
        found |= {_TERMINAL}
    if control.builds and one.holds(_listed_chords("activates", "builds")):
        found |= {Consequence.LAUNCHES}
    if control.is_menu_open:
        return found | _in_menu(one, control)
    if control.is_terminal and control.role in ("", _TERMINAL):
        return found | _in_terminal(one)
    if one.holds(_listed_chords("activates", "pastes")):
        return found | of_paste(control) | _others(one, control)
    if one.holds(_listed_chords("activates", "submits")):
        return found | _submitted(control) | _others(one, control)
    if one.holds(_listed_chords("activates", "presses")) and not is_field(control):
        return found | press_of(control) | _others(one, control)
    return found | _others(one, control)


def _is_choosing(control: Control) -> bool:
    """Whether Return chooses the marked entry of an open menu; a terminal may take it itself."""
    return control.is_menu_open and control.is_known and control.role.endswith(_MENU) and not control.is_terminal


def _in_password(one: Pressed, control: Control) -> frozenset[str]:
    submits = _listed_chords("activates", "submits")
    known = _listed_chords("harmless", "password") | submits
    if not all(stroke.whole in known or stroke.key == "Return" for stroke in one.strokes):
        return frozenset({"password"})
    return frozenset({"privileged"}) | _submitted(control) if one.holds(submits) else frozenset()


def _in_terminal(one: Pressed) -> frozenset[str]:
    known = _listed_chords("harmless", "terminal")
    is_known = all(stroke.is_sign or stroke.whole in known for stroke in one.strokes)
    if not is_known:
        return frozenset({_TERMINAL})
    is_answer = any(stroke.is_sign or stroke.whole == {"space"} for stroke in one.strokes)
    return frozenset({Consequence.UNKNOWN} if is_answer else ())


def _in_menu(one: Pressed, control: Control) -> frozenset[str]:
    """Keys choose the entry that is marked, or the one that they are bound to."""
    if one.holds(_listed_chords("activates", "submits", "presses")):
        return press_of(control) | started_by(control.name, control)
    known = _listed_chords("harmless", "menu")
    if all(stroke.whole in known for stroke in one.strokes):
        return frozenset()
    bound = _bound(one, control)
    return frozenset({Consequence.UNKNOWN}) | _perhaps_chosen(one, control) if bound is None else bound


def _perhaps_chosen(one: Pressed, control: Control) -> frozenset[str]:
    """What the entries of a menu do that hold the letter and do not say which key chooses them."""
    signs = {stroke.key for stroke in one.strokes}
    found: set[str] = set()
    for binding in control.bindings or ():
        if binding.role.endswith(_MENU) and not tuple(bound_combinations(binding.chord)):
            is_spelled = any(sign in _plain(binding.name) for sign in signs)
            found |= meaning_in(binding.role, binding.name, control) if is_spelled else frozenset()
    return frozenset(found)


def _chosen_by(sign: str, control: Control) -> frozenset[str]:
    """What a typed sign chooses in an open menu."""
    read = pressed("space" if sign == " " else "plus" if sign == "+" else sign)
    return frozenset().union(*(_in_menu(one, control) for one in read)) if read else frozenset({Consequence.UNKNOWN})


def _submitted(control: Control) -> frozenset[str]:
    """Return presses the focused button; in a field it submits it, in a dialog by its default."""
    if not is_field(control):
        sends = sends_on_return(control) and not is_pressed_role(control.role)
        return (frozenset({"submits"}) if sends else press_of(control)) | _by_default(control)
    sent = frozenset({"submits"}) if sends_on_return(control) else frozenset()
    return sent | _by_default(control)


def _by_default(control: Control) -> frozenset[str]:
    """What the default button of a dialog does; where none is known, what the dialog says."""
    if control.default:
        return meaning_in(_BUTTON, control.default, control)
    return words_of(control) | _asked_by(control) if control.is_dialog else frozenset()


def _others(one: Pressed, control: Control) -> frozenset[str]:
    """Strokes that neither submit, press nor paste: signs for a field, and chords that something is bound to."""
    found: set[str] = set()
    for stroke in one.strokes:
        if is_choice(control) and not stroke.whole.isdisjoint(table("controls")["choices"][control.role]):
            found |= choice_of(control)
        if _is_harmless(stroke, control) or _is_judged_before(stroke):
            continue
        bound = _bound(one, control)
        if bound is not None:
            found |= bound
        elif ALT not in stroke.held or _is_unresolved(control):
            found.add(Consequence.UNKNOWN)
    return frozenset(found)


def _is_judged_before(stroke: Stroke) -> bool:
    return bool(stroke.whole & {"Return", "space"}) or stroke.whole in _listed_chords("activates", "pastes")


def _is_harmless(stroke: Stroke, control: Control) -> bool:
    known = _listed_chords("harmless", "anywhere")
    if control.is_known:
        known |= _listed_chords("harmless", "shortcuts")
    if is_field(control):
        known |= _listed_chords("harmless", "field")
    return stroke.whole in known or (stroke.is_sign and is_field(control))


def _bound(one: Pressed, control: Control) -> frozenset[str] | None:
    """What the controls do that the window binds to a part of the chord; None where it binds none."""
    found = [one_ for one_ in control.bindings or () if _is_bound(one_, one, with_letters=control.is_menu_open)]
    if not found:
        return None
    kinds: set[str] = set()
    for binding in found:
        kinds |= meaning_in(binding.role, binding.name, control) | started_by(binding.name, control)
    return frozenset(kinds)


def _is_unresolved(control: Control) -> bool:
    """Whether a mnemonic may belong to a control with consequences that does not say which key presses it."""
    if control.bindings is None:
        return True
    open_ends = (binding for binding in control.bindings if not tuple(bound_combinations(binding.chord)))
    return any(meaning_in(binding.role, binding.name, control) for binding in open_ends)


def _is_bound(binding: Binding, one: Pressed, *, with_letters: bool) -> bool:
    """A letter alone chooses only in a menu that is open, there also where its entry says that alt is held."""
    found = bound_combinations(binding.chord)
    return any(
        (keys - {ALT} if with_letters else keys) <= one.symbols for keys in found if len(keys) > 1 or with_letters
    )


def _of_signs(text: str, control: Control) -> set[str]:
    """Signs without line breaks: harmless in a field, a terminal, and on a surface or finder that describes itself."""
    if control.is_menu_open:
        return set().union(*(_chosen_by(sign, control) for sign in set(text)))
    if control.is_terminal and (not is_field(control) or control.role == _TERMINAL):
        return {Consequence.UNKNOWN} if _is_answer(text) else set()
    if is_field(control):
        return set()
    found: set[str] = set()
    if " " in text and is_pressed_role(control.role):
        found |= press_of(control)
    is_surface = control.is_known and not is_pressed_role(control.role)
    if control.is_launcher and is_surface:
        return found
    is_quiet = is_surface and not sends_on_return(control) and not control.has_password
    return found if is_quiet else found | {Consequence.UNKNOWN}


def _is_answer(text: str) -> bool:
    """Whether a program that asks in a terminal may take it at once, without Return."""
    return len(text) == 1 or text.strip().casefold() in table("controls")["names"]["answers"]


def _combined(one: Pressed, own: frozenset[Combination]) -> frozenset[str]:
    """What the chord does wherever it lands."""
    found = {kind for kind in table("keys")["kinds"] if one.holds(_listed_chords("kinds", kind))}
    return frozenset(found | ({"session"} if one.holds(own) else set()))


@cache
def _listed_chords(section: str, *names: str) -> frozenset[Combination]:
    """The chords of some lists of the table of keys."""
    return frozenset().union(*(combinations(tuple(table("keys")[section][name])) for name in names))
