"""Decide what a call may reach on the network: which hosts, who named them, and whether an address may carry data out.

A model that has read something could hand it to any server in an address that it makes up (SECURITY.md, T7). So a host
is new until the person or a rule of theirs names it, and an address that is long, or holds what looks like packed data,
is crafted unless it stands word for word in a link that was read or in what the person said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from urllib.parse import urlsplit

from app.agent.policy import consequences, keystrokes
from app.agent.policy.sentences import table
from app.agent.policy.values import Action, Consequence, Control, Provenance
from app.base.errors import ToolMisuse
from app.protocol.call import JsonValue
from app.protocol.spec import Effect
from app.services.files.document_kinds import target_of
from app.services.web.addresses import WebTarget, is_own_server, read, why_refused

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
_ARGUMENT = re.compile(r"[A-Za-z_][\w-]{0,23}")
_NUMBER_CHARS = 6
_NUMBERS_CHARS = 12
"""From this many digits on, numbers that are handed on together may spell something."""


def reached(
    effects: frozenset[Effect], arguments: Mapping[str, JsonValue], provenance: Provenance
) -> tuple[tuple[str, ...], set[Consequence]]:
    """Return the hosts that a call names, and the consequences of reaching them."""
    if Effect.NETWORK not in effects:
        return (), set()
    names = table("calls")["arguments"]
    hosts: list[str] = []
    kinds: set[Consequence] = set()
    for url in texts(arguments, names["addresses"]):
        try:
            target = read(url)
        except ToolMisuse:
            return (url,), {Consequence.ODD}
        hosts.append(target.host)
        kinds |= _of_address(url, target, provenance)
    for value in (arguments.get(name) for name in names["handed_on"]):
        for text in _texts_in(value):
            named, found = _handed_on(text, provenance)
            hosts += named
            kinds |= found
    for query in texts(arguments, names["queries"]):
        if not was_said(query, provenance.said):
            kinds.add(Consequence.NEW_WORDS)
    return tuple(hosts), kinds


def _handed_on(text: str, provenance: Provenance) -> tuple[list[str], set[Consequence]]:
    """Return the hosts in a text, and the consequences of giving the text to somebody else's server.

    The addresses in the text decide. `NEW_WORDS` is added if the person did not say all the other words.
    """
    kinds = set() if was_said(_LINK.sub(" ", text), provenance.said) else {Consequence.NEW_WORDS}
    hosts: list[str] = []
    links = [link.rstrip(_AROUND) for link in _LINK.findall(text)]
    for url in links:
        try:
            target = read(url, any_port=True)
        except ToolMisuse:
            hosts.append(url)
            kinds.add(Consequence.INNER if _is_inner(url) else Consequence.ODD)
            continue
        hosts.append(target.host)
        kinds |= _of_address(url, target, provenance)
    bare = text.strip().rpartition("://")[2]
    if not links and len(bare.split()) == 1 and _is_inner(f"http://{bare}"):
        hosts.append(bare)
        kinds.add(Consequence.INNER)
    return hosts, kinds


def _is_inner(url: str) -> bool:
    """Return whether the URL leads to this machine or to a private network, by its number or its name."""
    try:
        target = read(url, any_port=True, any_host=True)
    except ToolMisuse:
        return False
    if target.address is not None:
        return bool(why_refused(target.address))
    try:
        read(url, any_port=True)
    except ToolMisuse:
        return "." in target.host or target.host == "localhost"
    return False


def _texts_in(value: JsonValue) -> Iterator[str]:
    """Yield everything in a JSON tree that can carry words: texts, keys that name no argument, long numbers, and many
    numbers together.
    """
    yield from _words_in(value)
    numbers = list(_numbers_in(value))
    if len(numbers) > 1 and sum(map(len, numbers)) > _NUMBERS_CHARS:
        yield " ".join(numbers)


def _numbers_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, (int, float)):
        yield str(int(value)) if isinstance(value, bool) else str(value)
    elif isinstance(value, (Mapping, list, tuple)):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers_in(one)


def _words_in(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (key for key in value if not _ARGUMENT.fullmatch(key))
        for one in value.values():
            yield from _words_in(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _words_in(one)
    elif isinstance(value, (int, float)) and len(str(value)) > _NUMBER_CHARS:
        yield str(value)


def really(
    effects: frozenset[Effect], arguments: Mapping[str, JsonValue], own_ports: Callable[[], Collection[int]]
) -> frozenset[Effect]:
    """Return the effects of a call. Reaching a server that this conversation's commands run counts as reading."""
    urls = tuple(texts(arguments, table("calls")["arguments"]["addresses"]))
    if Effect.NETWORK in effects and urls and all(is_own_server(url, own_ports) for url in urls):
        return effects - {Effect.NETWORK} | {Effect.READS}
    return effects


def shares(act: Action, texts: Iterable[str], typed: str, provenance: Provenance) -> bool:
    """Return whether an act puts words of others into a window from which they reach other people.

    `texts` are the texts that the act types, pastes or sets; `typed` is the text for the control with the keyboard.
    """
    control = act.control
    if Effect.DESKTOP not in act.effects or not _reaches_others(control):
        return False
    if control.window.key in provenance.shared or consequences.is_password(control):
        return False
    is_dropped = len(act.controls) > 1 and act.controls[0].window.key != control.window.key
    is_middle = act.arguments.get("button") == "middle" and consequences.is_field(control)
    if is_dropped or is_middle or (control.keyboard.pasted is None and keystrokes.may_paste(" ".join(act.keys))):
        return True
    is_read = control.is_known and not consequences.is_field(control)
    if is_read:
        texts = (typed,)
    return not all(_is_persons(text, control, provenance) for text in texts)


def _is_persons(text: str, control: Control, provenance: Provenance) -> bool:
    """Return whether a text holds only words of the person, or is the address of a known host in an address bar."""
    part, said = text.strip().casefold(), provenance.said
    if was_said(text, said) or (len(part) >= _PART_CHARS and part in said.casefold()):
        return True
    address = typed(text) if consequences.is_address_bar(control) else ""
    hosts, kinds = reached(frozenset({Effect.NETWORK}), {"url": address}, provenance)
    return bool(address and hosts) and not kinds


def is_local(act: Action, provenance: Provenance) -> bool:
    """Return whether the turn has read nothing but the screen of one program, and the act stays in that program.

    The program describes none of its controls. Nobody else's words can then have led to the act, and it can carry
    nothing of the person's elsewhere.
    """
    read = {*provenance.tainted_by, *provenance.personal, *provenance.secrets}
    never = table("controls")["mild"]["never"]
    windows = [control.window for control in act.controls]
    return (
        bool(windows)
        and read <= {"screen"}
        and all(control.is_silent and not _reaches_others(control) for control in act.controls)
        and not any(window.is_dialog or window.runs_programs or window.builds for window in windows)
        and not any(fnmatchcase(window.app.casefold(), name) for name in never for window in windows)
        and all(window.app and set(provenance.shown) <= {window.app} for window in windows)
    )


def typed(text: str) -> str:
    """Return the address that a browser opens for text typed into its address bar; "" for words and other schemes."""
    words = text.split()
    if len(words) != 1 or not re.search(r"[./:]|^localhost$", words[0]):
        return ""
    if _SCHEME.match(words[0]):
        return words[0] if words[0].casefold().startswith(("http:", "https:")) else ""
    return f"http://{words[0]}"


def navigation(entered: str) -> tuple[frozenset[Effect], dict[str, JsonValue]]:
    """Return the effects of entering a text into an address bar, and the path or address that it opens.

    A browser opens a path as a file, and runs or shows the content of schemes that do not belong to the web.
    """
    words = entered.strip()
    is_scheme = words.partition(":")[0].casefold() in table("calls")["arguments"]["schemes"] and ":" in words
    target = target_of(words) if is_scheme or re.match(r"~?/(?!/)", words) else None
    if target is not None and target.path:
        return frozenset({Effect.READS}), {"path": target.path}
    address = words if is_scheme else typed(words)
    return (frozenset({Effect.NETWORK}), {"url": address}) if address else (frozenset(), {})


def links_in(text: str) -> frozenset[str]:
    """Return the addresses in a text, normalised for comparison."""
    found = (match.group() for match in _LINK.finditer(text[:_MOST_CHARS]))
    return frozenset(key for link in found for one in {link, link.rstrip(_AROUND)} if (key := _key(one)))


def _reaches_others(control: Control) -> bool:
    """Return whether text typed into the control goes to others before it is sent: in a browser, chat or mail."""
    app = control.window.app.casefold()
    return consequences.sends_on_return(control) or any(
        fnmatchcase(app, name) for name in table("words")["objects"]["mail_apps"]
    )


def is_named(host: str, said: str) -> bool:
    """Return whether the person's words name the host, or a domain that it belongs to, as a whole name.

    A mail address, a path and a file's name do not count, and neither does a name in a sentence that denies it.
    """
    found = [(found, sentence) for sentence in _SENTENCE.split(said.casefold()) for found in _mentions(host, sentence)]
    if any(_negations() & set(_SPOKEN.findall(sentence[: one.start()])) for one, sentence in found):
        return False
    return any(_goes_there(one, sentence) for one, sentence in found)


def is_mentioned(host: str, said: str) -> bool:
    """Return whether the text contains the name of the host, or of a domain that the host belongs to."""
    return next(_mentions(host, said.casefold()), None) is not None


@cache
def _negations() -> frozenset[str]:
    return frozenset(table("words")["addresses"]["negations"])


def _mentions(host: str, text: str) -> Iterator[re.Match[str]]:
    site = re.escape(host.removeprefix("www.").casefold())
    return re.finditer(rf"(?<![\w.-])(?:[\w-]+\.)*{site}(?![\w-]|\.\w)", text)


def _goes_there(one: re.Match[str], sentence: str) -> bool:
    """Return whether the found name is an address in this sentence: after a scheme, with www., or alone.

    The name of a file or a part of a mail address is none.
    """
    before, after = sentence[: one.start()], sentence[one.end() :]
    if after.startswith("@"):
        return False
    if re.search(r"https?://$", before):
        return True
    if before.endswith(("@", "/", "\\", "~")):
        return False
    is_file = one[0].rpartition(".")[2] in table("words")["addresses"]["file_endings"] and not after.startswith("/")
    return one[0].startswith("www.") or not is_file


def _of_address(url: str, target: WebTarget, provenance: Provenance) -> set[Consequence]:
    crafted = {Consequence.CRAFTED} if _is_crafted(url, target, provenance) else set()
    if target.address is not None and why_refused(target.address):
        return {Consequence.INNER, *crafted}
    is_known = is_named(target.site, provenance.said) or target.host in provenance.hosts
    return crafted if is_known else {Consequence.NEW_HOST, *crafted}


def _is_crafted(url: str, target: WebTarget, provenance: Provenance) -> bool:
    """Return whether the model invented the address, and it can carry data out."""
    rest = _rest(url)
    if len(rest) < _LONG_CHARS and len(target.host) < _LONG_CHARS and not _PACKED.search(f"{target.host} {rest}"):
        return False
    key = _key(url)
    return key not in provenance.links and key not in _said_in(provenance.said)


def _said_in(said: str) -> Iterator[str]:
    """Yield the addresses among the person's words, with or without a scheme."""
    for word in said.split():
        for one in {word, word.strip(_AROUND)}:
            if key := _key(one if "://" in one else f"https://{one}"):
                yield key


def _key(url: str) -> str:
    """Return the address without its scheme and with a lower-case host, for comparison; "" if it cannot be read."""
    try:
        target = read(url, any_port=True)
    except ToolMisuse:
        return ""
    return f"{target.host}:{target.port if target.port not in (80, 443) else ''}{_rest(url)}"


def _rest(url: str) -> str:
    """Return everything after the host: what a server, or a script in its page, receives."""
    parts = urlsplit(url.strip())
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.path.rstrip('/')}{query}" + (f"#{parts.fragment}" if parts.fragment else "")


def was_said(words: str, said: str) -> bool:
    """Return whether `words` are the person's own: each word is in `said`, in any order, or `said` contains the whole
    text.

    Punctuation that stands alone, or three marks in a row, must be in `said` too, except usual ones such as a dash.
    """
    text, own = words.casefold(), said.casefold()
    parts = text.split()
    signs = [part for part in parts if not _WORD.search(part)] + _SIGNS.findall(text)
    has_words = any(map(_WORD.search, parts)) or not parts
    is_said = set(_WORD.findall(text)) <= set(_WORD.findall(own)) and set(signs) <= set(own.split()) | _ORDINARY
    return (has_words and is_said) or (bool(parts) and text.strip() in own and len(text.strip()) >= _PART_CHARS)


def texts(arguments: Mapping[str, JsonValue], names: Sequence[str]) -> Iterator[str]:
    """Yield the texts that a call passes in the arguments with these names."""
    for name in names:
        value = arguments.get(name)
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, str):
                yield one
