"""Turn what was read into calls of tools, by the tables of `resources/offline/acts.toml`."""

from __future__ import annotations

import glob
import re
import urllib.parse
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from app.base import resources
from app.base.named_files import FileIndex
from app.base.program_kinds import is_of_kind
from app.base.values import dataclass, field, replace
from app.providers.offline.finding import Sought
from app.providers.offline.placing import Placer
from app.providers.offline.reading import Act, Refusal, is_deed, read_wish
from app.providers.offline.slots import IT
from app.providers.offline.timing import length
from app.providers.offline.world import IN_FRONT, World

Value = str | int | float | bool | list[str]
_BUTTONS = {"right": "right_click", "middle": "middle_click"}
_COUNTS = {2: "double_click", 3: "triple_click"}
_WAYS = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_PLAIN_SCROLL, _WHOLE_SCROLL = 5, 100
_MOST_PRESSES, _SHORTEST_WAIT_S, _LONGEST_WAIT_S = 50, 0.001, 300
_LONGEST_TIMER_S = 86_400
_MOST_EDITED = 1_000_000
_META = re.compile(r"[\\.+*?()|\[\]{}^$]")
_DIFF_MARK = re.compile(r"[-<=+>\\]{3,}")
_FIELDS = ("field", "box", "bar", "feld", "zeile", "leiste")
"""A name that ends so says already that it is a field."""
_PLACED = ("path", "source", "second", "name")
"""The arguments that name a file in the folder `in`."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """One planned call. `phrase` names the sentences about it; `what` fills them.

    `otherwise` is the call to make if what this call looks for is not there, `unready` the one to make if its tool is
    not set up. `must_show` is "opened", "closed", "changed" or "saved": the step has worked only if the receipt says so
    about a window, about anything, or about a file. The window with the title `besides` does not count.
    """

    tool: str
    arguments: Mapping[str, Value] = field(default_factory=dict)
    phrase: str = ""
    what: str = ""
    otherwise: PlannedCall | None = None
    unready: PlannedCall | None = None
    must_show: str = ""
    besides: str | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[PlannedCall, ...]


@dataclass(frozen=True, slots=True)
class Talk:
    """An answer in words only, such as `help` or `time_in`. `given` is what stood at its slots."""

    topic: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Resume:
    """A wish to continue the wish before it, such as "go on"."""


Understood = Plan | Talk | Resume | Refusal


def is_undo(reading: Understood) -> bool:
    """True if a wish begins with “undo that”, which does not say what is to be undone."""
    return isinstance(reading, Plan) and reading.steps[0].phrase == "undo_keys"


def understood(wish: str, world: World) -> Understood:
    """Return what a wish asks for: calls, an answer in words, to go on, or why nothing is done."""
    world = replace(world, files=FileIndex(Path.home()))
    read = read_wish(wish, world)
    if isinstance(read, Refusal):
        return read
    first = read[0]
    if first.intent == "resume":
        return Resume()
    if first.intent == "locate":
        return _located(wish, first, world)
    if first.intent == "file_facts" and (told := _folder_facts(wish, first, world)):
        return told
    if not is_deed(first.intent):
        return Talk(first.intent, first.arguments)
    steps = planned(wish, read, world)
    if isinstance(steps, Refusal):
        return steps
    if any(step.unready for step in steps):
        steps = _set_up(steps, world.unready())
    if world.tools and any(step.tool not in world.tools for step in steps):
        return Refusal("left_out", wish)
    return Plan(steps)


def _set_up(steps: tuple[PlannedCall, ...], unready: Collection[str]) -> tuple[PlannedCall, ...]:
    """Steps whose tool is not set up are exchanged."""
    return tuple(step.unready if step.unready and step.tool in unready else step for step in steps)


def shown(wish: str, world: World) -> dict[str, object]:
    """Return what a wish asks for as JSON: its `calls`, the `answer` that it gets, or what it is `refused` for."""
    reading = understood(wish, world)
    match Refusal("nothing_done") if is_undo(reading) else reading:
        case Plan(steps):
            return {"calls": [{"tool": step.tool, "arguments": dict(step.arguments)} for step in steps]}
        case Talk(topic, given):
            return {"calls": [], "answer": topic, **given}
        case Refusal(kind, part):
            return {"calls": [], "refused": kind, "part": part}
    return {"calls": [], "answer": "resume"}


Made = Sequence[PlannedCall] | Refusal


def planned(wish: str, acts: Sequence[Act], world: World) -> tuple[PlannedCall, ...] | Refusal:
    """Return the calls of all acts in order, or why there are none. Answers in words are no calls."""
    steps: list[PlannedCall] = []
    placer, made_here = Placer(wish, world), set[str]()
    acts = _saved_screenshots(acts)
    last = world.last.file
    for before, said in zip((None, *acts), acts, strict=False):
        act = _at_window(said, world if before is None else World())
        is_in_terminal = before is not None and is_of_kind(str(before.arguments.get("name", "")), "terminal")
        if act.intent == "open_app" and act.arguments["name"] == IT and not last and before is None:
            act = replace(act, arguments={"name": world.last.program or IT})
        if IT in act.arguments.values() and not last:
            return Refusal("it")
        if act.intent == "remind" and not act.arguments["text"]:
            return Refusal("of_what")
        if act.intent == "remind" and "schedule" not in act.arguments:
            return Refusal("when", str(act.arguments["text"]))
        placed = placer.placed(_resolved(act, last), made_here)
        if isinstance(placed, Refusal):
            return placed
        made = _new_tab(steps, world) if act.intent == "new_tab" else _steps(placed, world)
        if is_in_terminal and act.intent == "execute_command":  # because it is meant to run in that terminal
            made = _made("run_in_terminal", act.arguments)[1:]
        if isinstance(made, Refusal):
            return made
        steps += made
        last = named(made[-1]) or last
        made_here |= {one for step in made for one in _left_behind(step)}
    return tuple(steps)


def _saved_screenshots(acts: Sequence[Act]) -> Sequence[Act]:
    """A screenshot and “save it” right behind it become one act, because “it” is the screenshot."""
    found: list[Act] = []
    for act in acts:
        is_saved = act.intent == "save_as" or "saves" in act.arguments
        if is_saved and found and found[-1].intent == "screen_capture":
            found[-1] = replace(act, intent="save_screenshot" if act.intent == "save_as" else "save_screenshot_here")
        else:
            found.append(act)
    return found


def _at_window(act: Act, world: World) -> Act:
    """“It” means the window that was named before this wish, or the one in front."""
    if act.arguments.get("title") != IT:
        return act
    last = world.last.window
    return replace(act, arguments={**act.arguments, "title": last if last and world.is_open(last) else IN_FRONT})


def _resolved(act: Act, named: str) -> Act:
    return replace(act, arguments={name: named if value == IT else value for name, value in act.arguments.items()})


def named(step: PlannedCall) -> str:
    """Return the file or folder that a step leaves behind, which “it” means in the next one; "" if there is none."""
    paths = {name: value[0] if isinstance(value, list) else str(value) for name, value in step.arguments.items()}
    into, source = paths.get("destination", ""), paths.get("source", "")
    if step.tool == "pack_files" and not into:
        is_folder = Path(source).expanduser().is_dir()
        return f"{source.rstrip('/')}.zip" if is_folder else str(Path(source).with_suffix(".zip"))
    return f"{into}{source.rpartition('/')[2]}" if into.endswith("/") else into or paths.get("path", "")


def _left_behind(step: PlannedCall) -> Iterator[str]:
    """Yield the paths that a step may make, and their names alone."""
    for name in ("path", "destination", "text"):
        for path in _listed(step.arguments.get(name, "")):
            yield from (path, path.rstrip("/").rpartition("/")[2])


def _listed(value: Value) -> list[str]:
    return value if isinstance(value, list) else [str(value)]


def _located(wish: str, act: Act, world: World) -> Understood:
    """Answers where a file is."""
    placer, placed = Placer(wish, world), Placer(wish, world).placed(act, ())
    if isinstance(placed, Refusal):
        return placed
    sought = placed.arguments["part"]
    if isinstance(sought, Sought):
        sought = replace(sought, folder=str(placed.arguments.get("in", "")))
    said = sought.said if isinstance(sought, Sought) else str(sought)
    paths = placer.told(sought)
    if not paths and act.arguments.get("otherwise") == "question":
        return Refusal("question", wish)
    if not paths and "otherwise" in act.arguments:  # because what somebody remembers may be meant, and no file
        return Plan(tuple(_made(act.arguments["otherwise"], {"query": said})))
    return Talk("locate", {"paths": list(paths)}) if paths else Refusal("no_file", said)


def _folder_facts(wish: str, act: Act, world: World) -> Talk | None:
    """None if no folder is meant."""
    placed = Placer(wish, world).placed(act, ())
    folder = Path() if isinstance(placed, Refusal) else Path(world.workspace or ".") / _expanded(placed)
    if isinstance(placed, Refusal) or not folder.is_dir():
        return None
    files = [one.size_bytes for _, one in FileIndex(folder).all() if not one.is_folder]
    return Talk("folder_size", {"count": len(files), "size_bytes": sum(files)})


def _expanded(act: Act) -> Path:
    return Path(str(act.arguments["path"])).expanduser()


def _steps(act: Act, world: World) -> Made:
    given = dict(act.arguments)
    if act.intent == "close_all":
        return _close_all(world)
    if act.intent == "side_by_side":
        return _side_by_side(given, world)
    if act.intent == "go_into" or (act.intent == "type_into" and "name" in given):
        return _gone_into(given, world)
    if act.intent in ("launch_app", "delete_app", "rename_widget"):
        return _own_app(act.intent, given, world)
    if act.intent in ("create_app", "time_app"):
        return _created(given, world) if act.intent == "create_app" else _timed(given, world)
    if act.intent == "cancel_timer":
        return _cancelled(world)
    if special := _SPECIAL.get(act.intent):
        return special(given)
    if act.intent in ("move_file", "copy_file", "rename", "delete_file"):
        return _files(act.intent, given)
    if act.intent == "replace_text":
        return _text_replaced(given, world)
    return _made(act.intent, _placed(given))


def _gone_into(given: Mapping[str, Any], world: World) -> Made:
    """Steps that go to an open window, or open the program where none is, and type what is to be typed."""
    name = given["name"]
    known = _made("focus_window", {"title": name}) if world.is_open(name) else _made("open_app", {"name": name})
    return [*known, *(_made("computer_type", given) if "text" in given else [])]


def _close_all(world: World) -> Made:
    titles = dict.fromkeys(title for title, _ in world.windows)
    return [_made("close_window", {"title": title})[0] for title in titles] or Refusal("which", "all windows")


def _side_by_side(given: Mapping[str, Any], world: World) -> Made:
    """Steps for two windows: those that are named, or else the two in front."""
    two = [str(given[side]) for side in ("left", "right") if side in given] or [one for one, _ in world.windows[:2]]
    if len(two) < 2:
        return Refusal("which", "windows")
    return [
        *_made("tile_window", {"title": two[0], "side": "left"}),
        *_made("tile_window", {"title": two[1], "side": "right"}),
    ]


def _own_app(intent: str, given: Mapping[str, Any], world: World) -> Made:
    """A small app of Wisp's: the one of that id or name, or else the only one of that sort."""
    wanted = str(given["id"])
    there = sorted(world.apps_called(wanted) or _of_sort(wanted, world))
    if len(there) > 1:
        return Refusal("several_apps", f"{wanted}: {', '.join(surface_id for surface_id, _ in there)}")
    if intent == "launch_app" and not there:
        return _made("open_app", {"name": wanted})
    surface_id, called = there[0] if there else (wanted, wanted)
    return _made(_for_kind(intent, surface_id), {**given, "id": surface_id, "called": called})


def _of_sort(name: str, world: World) -> Sequence[tuple[str, str]]:
    """The apps made from the template whose new apps get this name, whatever they are called now."""
    names = next((names for names in _acts()["templates"].values() if name in names), ())
    made = re.compile("|".join(rf"(?:app|widget)-{one.casefold().replace(' ', '-')}(?:-\d+)*" for one in names))
    return [app for app in world.apps if app[1] in names or made.fullmatch(app[0])]


def _for_kind(intent: str, surface_id: str) -> str:
    return intent.replace("_app", "_shortcut") if surface_id.startswith("widget-") else intent


def _created(given: Mapping[str, Any], world: World) -> Sequence[PlannedCall]:
    """A step that makes an app, or opens the one that is there and called so."""
    name, kind = str(given.get("called") or given["name"]), "widget-" if given.get("shortcut") else "app-"
    there = [app for app in world.apps if app[0].startswith(kind) and app[1].casefold() == name.casefold()]
    if there and not given.get("another"):
        surface_id, called = there[0]
        return _made(_for_kind("open_made_app", surface_id), {"id": surface_id, "called": called})
    template = next(key for key, names in _acts()["templates"].items() if given["name"] in names)
    intent = "another_app" if given.get("another") else "create_shortcut" if given.get("shortcut") else "create_app"
    return _made(intent, {"name": name, "template": template})


def _timed(given: Mapping[str, Any], world: World) -> Made:
    """Steps that make a timer, or open the one that is there, and let it run."""
    seconds, timer = given["seconds"], {**given, "name": _acts()["templates"]["timer"][0]}
    if refused := _beyond(seconds, 1, _LONGEST_TIMER_S):
        return refused
    [made] = _created(timer, world)
    app = made.arguments.get("id") or made.arguments["name"]
    return [made, *_made("time_app", {"id": app, "seconds": seconds, "length": length(seconds)})]


def _new_tab(before: Sequence[PlannedCall], world: World) -> Made:
    """Return the keys for a new tab in the program that was gone to, or else in the one in front.

    In other programs than these, the keys may mean anything: in Mousepad, ctrl+t swaps two letters.
    """
    to = before[-1].arguments.get("title", before[-1].arguments.get("name")) if before else ""
    program = str(to or (world.windows[0][1] if world.windows else ""))
    keys = next((keys for kind, keys in _acts()["new_tab"].items() if is_of_kind(program, kind)), "")
    if not keys and program and world.windows:
        return Refusal("no_tab", program)
    return _keys({"keys": keys or "ctrl+t"})


def _cancelled(world: World) -> Made:
    there = _of_sort(_acts()["templates"]["timer"][0], world)
    if len(there) > 1:
        return Refusal("several_apps", ", ".join(surface_id for surface_id, _ in there))
    return _made("cancel_timer", {"id": there[0][0], "called": there[0][1]}) if there else Refusal("no_timer")


def _beyond(seconds: float, least: float, most: float) -> Refusal | None:
    """None if the length of time is taken."""
    if seconds < least:
        return Refusal("too_short", length(seconds))
    return Refusal("range", length(seconds), limit=length(most)) if seconds > most else None


def _memory(intent: str, given: Mapping[str, Any]) -> Made:
    return _made(f"{intent}_all", {}) if given.get("all") else _made(intent, given)


def _kept(given: Mapping[str, Any]) -> Made:
    """`about` stands before what is only a name."""
    return _made("remember", {"text": given.get("text") or f"{given['about']} {given['called']}"})


def _unplanned(given: Mapping[str, Any]) -> Made:
    return _made("unplan_all" if "all" in given else "unplan_about" if "about" in given else "unplan", given)


def _web_search(given: Mapping[str, Any]) -> Made:
    return _made("web_search", {**given, "words": urllib.parse.quote_plus(given["query"])})


def _on_site(given: Mapping[str, Any]) -> Made:
    address = given["url"].replace("{words}", urllib.parse.quote_plus(given["query"]))
    return _made("search_site", {**given, "url": address})


def _menu(given: Mapping[str, Any]) -> Made:
    return _made("choose_menu", {"path": given.get("path") or f"{given['menu']} > {given['entry']}"})


def _found_files(given: Mapping[str, Any]) -> Made:
    named = next(given[name] for name in ("part", "ending") if name in given)
    return _made("find_files", {"path": given.get("path", "~"), "named": named.replace("**", "*")})


def _waited(given: Mapping[str, Any]) -> Made:
    seconds = given["seconds"]
    refused = _beyond(seconds, _SHORTEST_WAIT_S, _LONGEST_WAIT_S)
    return refused or _made("wait", {**given, "length": length(seconds)})


def _look(given: Mapping[str, Any]) -> Made:
    return _made("set_theme", {"name": " ".join(given[part] for part in ("name", "scheme") if part in given)})


def _made(intent: str, given: Mapping[str, Any]) -> list[PlannedCall]:
    return [_call(step, given) for step in _acts()[intent]["steps"]]


def _acts() -> resources.Table:
    return resources.table("offline/acts.toml", resources.Table)


def _call(step: Mapping[str, Any], given: Mapping[str, Any]) -> PlannedCall:
    arguments: dict[str, Value] = {name: _filled(said, given) for name, said in step.get("arguments", {}).items()}
    arguments |= {name: int(str(arguments[name])) for name in step.get("numbers", ())}
    arguments |= {name: str(arguments[name]) for name in step.get("texts", ())}
    arguments |= {name: True for name in step.get("flags", ())}
    arguments |= {
        name: [str(arguments[name])] for name in step.get("many", ()) if not isinstance(arguments[name], list)
    }
    otherwise, unready = (_call(step[name], given) if name in step else None for name in ("otherwise", "unready"))
    what = str(_filled(step.get("what", ""), {name: _told(value) for name, value in given.items()}))
    return PlannedCall(step["tool"], arguments, step["phrase"], what, otherwise, unready, step.get("must_show", ""))


def _filled(said: str, given: Mapping[str, Any]) -> Value:
    """What is only one slot keeps its type."""
    if alone := re.fullmatch(r"\{(\w+)\}", said):
        value: Value = given[alone[1]]
        return value
    return re.sub(r"\{(\w+)\}", lambda slot: str(given[slot[1]]), said)


def _told(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _placed(given: Mapping[str, Any]) -> dict[str, Any]:
    """Files get the folder that was named beside them."""
    folder = given.get("in")
    found = {name: value for name, value in given.items() if name != "in"}
    for name in _PLACED if folder else ():
        if name in found:
            found[name] = f"{str(folder).rstrip('/')}/{str(found[name]).rpartition('/')[2]}"
    return found


def _files(intent: str, given: Mapping[str, Any]) -> Made:
    found = _placed(given)
    if "fresh" in found:
        found["destination"] = found.pop("fresh")
        carried = _carried(intent, found)
        made = _made("make_folder", {"path": found["destination"]})
        return carried if isinstance(carried, Refusal) else [*made, *carried]
    return _carried(intent, found)


def _packed(given: Mapping[str, Any]) -> Made:
    """Files go into the archive that is named, else into one beside the first of them."""
    found = _placed(given)
    if refused := _gathered(found):
        return refused
    if "archive" not in found:
        return _made("pack_files", found)
    first = found["source"][0] if isinstance(found["source"], list) else str(found["source"])
    if "/" not in found["archive"]:
        found["archive"] = f"{first.rstrip('/')[: first.rstrip('/').rfind('/') + 1]}{found['archive']}"
    return _made("pack_as", found)


def _unpacked(given: Mapping[str, Any]) -> Made:
    found = _placed(given)
    if "fresh" in found:
        found["destination"] = found.pop("fresh")
    elif "destination" in found:
        found["destination"] = f"{str(found['destination']).rstrip('/')}/"
    return _made("unpack_into" if "destination" in found else "unpack_file", found)


def _mentions(given: Mapping[str, Any]) -> Made:
    return _made("mentions", {**given, "regex": "(?i)" + _META.sub(r"\\\g<0>", given["text"])})


def _file_facts(given: Mapping[str, Any]) -> Made:
    folder, _, name = str(given["path"]).rstrip("/").rpartition("/")
    return _made("file_facts", {"path": folder or ".", "named": glob.escape(name)})


def _text_replaced(given: Mapping[str, Any], world: World) -> Made:
    """In all lines of a file that hold the text."""
    path, old, new = str(given["path"]), given["old"], given["new"]
    try:
        text = (Path(world.workspace or ".") / Path(path).expanduser()).read_text(encoding="utf-8")[:_MOST_EDITED]
    except (OSError, ValueError):
        return Refusal("no_file", path)
    lines = [line for line in text.splitlines() if old in line]
    if not lines or "\n" in old + new:
        return Refusal("not_in_file", old)
    marks = [(_escaped(line), _escaped(line.replace(old, new))) for line in lines]
    diff = "\n".join(f"------- SEARCH\n{line}\n=======\n{now}\n+++++++ REPLACE" for line, now in marks)
    return _made("replace_text", {**given, "diff": diff})


def _escaped(line: str) -> str:
    """A line must not look like a diff's own marks."""
    return f"\\{line}" if _DIFF_MARK.match(line) else line


def _gathered(found: dict[str, Any]) -> Refusal | None:
    """Put all files that are meant under `source`. Returns why there are none."""
    if "second" in found:
        found["source"] = [found["source"], found["second"]]
    elif "*" in (pattern := str(found.get("source", ""))):
        folder, _, named = pattern.rpartition("/")
        files = (file for one in named.split("|") for file in Path(folder).expanduser().glob(one) if file.is_file())
        there = sorted({file.name for file in files})
        if not there:
            return Refusal("no_files", pattern)
        found["source"] = [f"{folder}/{name}" for name in there]
    return None


def _carried(intent: str, found: dict[str, Any]) -> Made:
    if intent == "rename":
        source, new = str(found["source"]), str(found["destination"])
        folder = source[: source.rfind("/") + 1]
        if "/" in new.removeprefix(folder):
            return Refusal("no_name", new)
        found["destination"] = f"{folder}{new.removeprefix(folder)}"
    if "destination" in found and intent != "rename":
        found["destination"] = str(found["destination"]).rstrip("/")
    refused = _gathered(found)
    return refused or _made(intent, found)


def _click(given: Mapping[str, Any]) -> Sequence[PlannedCall]:
    extra = {name: given[name] for name in ("count", "button") if name in given}
    phrase = _COUNTS.get(given.get("count", 1)) or _BUTTONS.get(given.get("button", ""), "click")
    if point := given.get("point"):
        what = f"at {point[0]}, {point[1]}"
        return [PlannedCall("computer_click", {"x": point[0], "y": point[1], "space": "screen", **extra}, phrase, what)]
    if ref := given.get("ref"):
        return [PlannedCall("computer_click", {"ref": ref, **extra}, phrase, ref)]
    names = [str(given["target"]), *([str(given["or"])] if "or" in given else [])]
    tried = [PlannedCall("computer_click", {"target": name, **extra}, phrase, f"“{name}”") for name in names]
    return [replace(tried[0], otherwise=tried[1] if tried[1:] else None)]


def _typed_into(given: Mapping[str, Any]) -> Sequence[PlannedCall]:
    if "replace" in given:
        return _made("set_field", given)
    named = str(given["field"]).casefold().endswith(_FIELDS)
    return _made("type_into_named_field" if named else "type_into_field", given)


def _drag(given: Mapping[str, Any]) -> Sequence[PlannedCall]:
    ends = {name: place if isinstance(place, str) else f"{place[0]},{place[1]}" for name, place in given.items()}
    found = _made("computer_drag", ends)
    is_point = any(re.fullmatch(r"\d+,\d+", place) for place in ends.values())
    return [replace(one, arguments={**one.arguments, "space": "screen"}) for one in found] if is_point else found


def _keys(given: Mapping[str, Any]) -> Made:
    count = given.get("repeat", 1)
    if count > _MOST_PRESSES:
        return Refusal("range", f"{given['keys']} × {count}", limit=str(_MOST_PRESSES))
    if count == 1:
        must_show = "saved" if "saves" in given else ""
        return [PlannedCall("computer_key", {"keys": given["keys"]}, "press", given["keys"], must_show=must_show)]
    return [
        PlannedCall("computer_key", {"keys": given["keys"], "repeat": count}, "press", f"{given['keys']} × {count}")
    ]


def _scroll(given: Mapping[str, Any]) -> Made:
    way = given.get("way") or given["edge"]
    count = given.get("count", _WHOLE_SCROLL if "edge" in given else _PLAIN_SCROLL)
    if count > _WHOLE_SCROLL:
        return Refusal("range", f"{count}", limit=str(_WHOLE_SCROLL))
    dx, dy = _WAYS[way]
    return _made("computer_scroll", {"dx": dx * count, "dy": dy * count, "way": way})


_SPECIAL: Mapping[str, Callable[[Mapping[str, Any]], Made]] = {
    "computer_click": _click,
    "computer_key": _keys,
    "computer_drag": _drag,
    "choose_menu": _menu,
    "type_into": _typed_into,
    "scroll": _scroll,
    "recall": partial(_memory, "recall"),
    "forget": partial(_memory, "forget"),
    "undo": lambda _: [PlannedCall("computer_key", {"keys": "ctrl+z"}, "undo_keys", "ctrl+z")],
    "find_files": _found_files,
    "pack_files": _packed,
    "unpack_file": _unpacked,
    "mentions": _mentions,
    "file_facts": _file_facts,
    "wait": _waited,
    "search_site": _on_site,
    "web_search": _web_search,
    "remember": _kept,
    "unplan": _unplanned,
    "set_theme": _look,
}
"""The intents that become other calls, depending on what was said."""
