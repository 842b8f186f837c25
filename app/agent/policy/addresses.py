"""Where a call would go on the network: which hosts, who named them, and whether an address may carry something out.

A model that has read something could hand it to any server in an address that it makes up. So a host counts as new
until the person or a rule of theirs names it, and an address that is long, or holds what looks like packed data, is
crafted unless it stands word for word in a link that was read or in what the person said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from urllib.parse import urlsplit

from app.agent.policy import consequences, keystrokes
from app.agent.policy.sentences import table
from app.agent.policy.values import Action, Consequence, Control, Provenance
from app.base.errors import ToolMisuse
from app.protocol.call import JsonValue
from app.protocol.spec import Effect
from app.services.web.addresses import WebTarget, read, why_refused

_LONG_CHARS = 48
"""Of path, query and fragment together, or of the host: that much room holds a key."""
_PACKED = re.compile(r"[A-Za-z0-9+_=%-]{24}")
"""A run of signs as in base64, hex or percent-encoding. A slash ends it, since every path has some."""
_PART_CHARS = 4
"""A part of the person's message from this length on is their words, whatever script it is in."""
_LINK = re.compile(r"https?://[^\s<>\"'`\\^{}|\x00-\x1f]+", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:(?!\d)", re.IGNORECASE)
_AROUND = "<>()[]{}\"'`.,;:!?*_"
_WORD = re.compile(r"\w+")
_SIGNS = re.compile(r"[^\w\s]{3,}")
_ORDINARY = frozenset({"...", "-", "–", "—", "&", "+"})
"""Signs that stand between words."""
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_SPOKEN = re.compile(r"[\w'’]+")
_MOST_CHARS = 400_000


def reached(
    effects: frozenset[Effect], arguments: Mapping[str, JsonValue], provenance: Provenance
) -> tuple[tuple[str, ...], set[str]]:
    """The hosts that a call names, and what follows from them and from its addresses."""
    if Effect.NETWORK not in effects:
        return (), set()
    names = table("calls")["arguments"]
    hosts: list[str] = []
    kinds: set[str] = set()
    for url in texts(arguments, names["addresses"]):
        try:
            target = read(url)
        except ToolMisuse:
            return (url,), {Consequence.ODD.value}
        hosts.append(target.host)
        kinds |= _of_host(target, provenance)
        if _is_crafted(url, target, provenance):
            kinds.add(Consequence.CRAFTED.value)
    for query in texts(arguments, names["queries"]):
        if not _was_said(query, provenance.said):
            kinds.add(Consequence.NEW_WORDS.value)
    return tuple(hosts), kinds


def shares(act: Action, texts: Iterable[str], provenance: Provenance) -> bool:
    """Whether it puts words that are not the person's into a window from which they reach others.

    `texts` are those that it types, pastes or sets.
    """
    control = act.control
    if Effect.DESKTOP not in act.effects or not _reaches_others(control):
        return False
    if control.window_key in provenance.shared or consequences.is_password(control):
        return False
    is_dropped = len(act.controls) > 1 and act.controls[0].window_key != control.window_key
    is_middle = act.arguments.get("button") == "middle" and consequences.is_field(control)
    if is_dropped or is_middle or (control.pasted is None and keystrokes.may_paste(" ".join(act.keys))):
        return True
    is_read = control.is_known and not consequences.is_field(control)
    if is_read:
        texts = (act.text,) if act.tool == "computer_type" else ()
    return not all(_is_persons(text, control, provenance) for text in texts)


def _is_persons(text: str, control: Control, provenance: Provenance) -> bool:
    """Whether the words are the person's, or the address of a host that is no new one. Letters spell anything."""
    part, said = text.strip().casefold(), provenance.said
    if _was_said(text, said) or (len(part) >= _PART_CHARS and part in said.casefold()):
        return True
    address = typed(text) if consequences.is_address_bar(control) else ""
    hosts, kinds = reached(frozenset({Effect.NETWORK}), {"url": address}, provenance)
    return bool(address and hosts) and not kinds


def is_local(act: Action, provenance: Provenance) -> bool:
    """Whether the turn has read only one program's screen, and the act stays in that program, which describes nothing.

    Then no other words can have led to the act, and it can carry nothing of the person's elsewhere.
    """
    read = {*provenance.tainted_by, *provenance.personal, *provenance.secrets}
    never = table("controls")["mild"]["never"]
    return bool(act.controls and read <= {"screen"}) and all(
        control.is_silent
        and not (control.is_dialog or control.runs_programs or control.builds or _reaches_others(control))
        and not any(fnmatchcase(control.app.casefold(), name) for name in never)
        and bool(control.app)
        and set(provenance.shown) <= {control.app}
        for control in act.controls
    )


def typed(text: str) -> str:
    """The address that a browser opens for what was typed into its bar; empty for words, and for other schemes."""
    words = text.split()
    if len(words) != 1 or not re.search(r"[./:]|^localhost$", words[0]):
        return ""
    if _SCHEME.match(words[0]):
        return words[0] if words[0].casefold().startswith(("http:", "https:")) else ""
    return f"http://{words[0]}"


def links_in(text: str) -> frozenset[str]:
    """The addresses that stand in a text, as they are compared."""
    found = (match.group() for match in _LINK.finditer(text[:_MOST_CHARS]))
    return frozenset(key for link in found for one in {link, link.rstrip(_AROUND)} if (key := _key(one)))


def _reaches_others(control: Control) -> bool:
    """Whether what is typed there goes to others: in a browser, a chat or a mail program, also before it is sent."""
    app = control.app.casefold()
    return consequences.sends_on_return(control) or any(
        fnmatchcase(app, name) for name in table("words")["objects"]["mail_apps"]
    )


def is_named(host: str, said: str) -> bool:
    """Whether the person named the host, or one that it belongs to: whole names, not parts of other words.

    A mail address, a path and the name of a file name none, and where a sentence denies it, nothing does.
    """
    found = [(found, sentence) for sentence in _SENTENCE.split(said.casefold()) for found in _mentions(host, sentence)]
    if any(_negations() & set(_SPOKEN.findall(sentence[: one.start()])) for one, sentence in found):
        return False
    return any(_goes_there(one, sentence) for one, sentence in found)


def is_mentioned(host: str, said: str) -> bool:
    """Whether the name of the host, or of one that it belongs to, stands anywhere in the text."""
    return next(_mentions(host, said.casefold()), None) is not None


@cache
def _negations() -> frozenset[str]:
    return frozenset(table("words")["addresses"]["negations"])


def _mentions(host: str, text: str) -> Iterator[re.Match[str]]:
    site = re.escape(host.removeprefix("www.").casefold())
    return re.finditer(rf"(?<![\w.-])(?:[\w-]+\.)*{site}(?![\w-]|\.\w)", text)


def _goes_there(one: re.Match[str], sentence: str) -> bool:
    """Whether it stands there as an address: behind its scheme, with www., or bare and like no file or mail address."""
    before, after = sentence[: one.start()], sentence[one.end() :]
    if after.startswith("@"):
        return False
    if re.search(r"https?://$", before):
        return True
    if before.endswith(("@", "/", "\\", "~")):
        return False
    is_file = one[0].rpartition(".")[2] in table("words")["addresses"]["file_endings"] and not after.startswith("/")
    return one[0].startswith("www.") or not is_file


def _of_host(target: WebTarget, provenance: Provenance) -> set[str]:
    if target.address is not None and why_refused(target.address):
        return {Consequence.INNER.value}
    is_known = is_named(target.site, provenance.said) or target.host in provenance.hosts
    return set() if is_known else {Consequence.NEW_HOST.value}


def _is_crafted(url: str, target: WebTarget, provenance: Provenance) -> bool:
    """Return whether the model invented the address, and it can carry data out."""
    rest = _rest(url)
    if len(rest) < _LONG_CHARS and len(target.host) < _LONG_CHARS and not _PACKED.search(f"{target.host} {rest}"):
        return False
    key = _key(url)
    return key not in provenance.links and key not in _said_in(provenance.said)


def _said_in(said: str) -> Iterator[str]:
    """The addresses among the person's words, written with their scheme or without."""
    for word in said.split():
        for one in {word, word.strip(_AROUND)}:
            if key := _key(one if "://" in one else f"https://{one}"):
                yield key


def _key(url: str) -> str:
    """The address without its scheme, the host in small letters; empty where it is none."""
    try:
        target = read(url, any_port=True)
    except ToolMisuse:
        return ""
    return f"{target.host}:{target.port if target.port not in (80, 443) else ''}{_rest(url)}"


def _rest(url: str) -> str:
    """Everything behind the host: what a server, or a script in its page, is given."""
    parts = urlsplit(url.strip())
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.path.rstrip('/')}{query}" + (f"#{parts.fragment}" if parts.fragment else "")


def _was_said(words: str, said: str) -> bool:
    """Whether every word was the person's own. Signs without letters count only if they were said."""
    text, own = words.casefold(), said.casefold()
    parts = text.split()
    signs = [part for part in parts if not _WORD.search(part)] + _SIGNS.findall(text)
    has_words = any(map(_WORD.search, parts)) or not parts
    is_said = set(_WORD.findall(text)) <= set(_WORD.findall(own)) and set(signs) <= set(own.split()) | _ORDINARY
    return (has_words and is_said) or (bool(parts) and text.strip() in own and len(text.strip()) >= _PART_CHARS)


def texts(arguments: Mapping[str, JsonValue], names: Sequence[str]) -> Iterator[str]:
    """The texts that a call gives under these names."""
    for name in names:
        value = arguments.get(name)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, str):
                yield one
