"""The acts of the computer tools, run on the desktop thread. Each takes the controller and a call, gives a receipt."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from functools import partial

from app.base.clipping import clip_line
from app.base.errors import ToolFailed, ToolMisuse
from app.base.facts import Arrived, Missing, Named, Remark
from app.base.geometry import Point, Rect
from app.base.phrases import Phrase
from app.base.values import replace
from app.desktop import verification
from app.desktop.accessibility.constants import COMBO_BOX, OPERABLE, TOGGLE_BUTTON, VALUES
from app.desktop.accessibility.matching import normal
from app.desktop.accessibility.outline import LINE_BREAK, is_preview, takes_value
from app.desktop.backends import Button, KeyboardMoved, Press, Window, pointer_at
from app.desktop.capture import bounds_of
from app.desktop.controller import DesktopController, Target
from app.desktop.elements import SECRET, UNPLACED, Element, NoAction, TakesNoValue
from app.desktop.keys import Chord, KeyChecks, Taker, chord, chords, modifiers
from app.desktop.ocr.elements import is_written
from app.desktop.programs import is_terminal
from app.desktop.screen_capture import Spot
from app.desktop.staleness import KeyTarget
from app.desktop.targets import Aim
from app.desktop.verification import Patience, Proof, Proving, Receipt, Standing
from app.protocol.call import CHANGED_PART, JsonValue, ToolCall, ToolResult, barred
from app.protocol.spec import Param
from app.tools.registry import Admit

Act = Callable[[DesktopController, ToolCall], Awaitable[ToolResult]]
ActInSteps = Callable[[DesktopController, ToolCall, Admit], Awaitable[ToolResult]]
"""An action that asks the policy before each of its steps."""


class Move(Enum):
    """Where the keyboard focus may have moved because of the last step."""

    NOWHERE = "nowhere"
    """Any other window stops the rest, even a window of the same program."""
    SAME_PROGRAM = "same program"
    ANYWHERE = "anywhere"
    """The last step was meant to change the window."""


class Steps:
    """Checks each step of a call that presses keys or types. `admit` asks the policy about the remaining steps.

    The policy judged the whole call by the control that had the focus then. Each step is checked against that control,
    and the policy judges again if the focus has moved.
    """

    def __init__(self, controller: DesktopController, call: ToolCall, admit: Admit) -> None:
        self._controller = controller
        self._admit = admit
        self._call_id = call.id
        self._judged = controller.key_targets.take(call.id)

    async def before_text(self, left: str) -> Taker:
        """Check the remaining text before a part of it is typed. Return and raise as `before`."""
        return await self.before(ToolCall(self._call_id, "type", {"text": left}), Move.NOWHERE)

    async def before_chords(self, left: Sequence[Chord], last: Chord | None) -> None:
        """Check the remaining chords before the next one is pressed. Raise as `before`."""
        rest = ToolCall(self._call_id, "key", {"keys": " ".join(map(str, left))})
        await self.before(rest, Move.ANYWHERE if last and last.may_switch else Move.SAME_PROGRAM, last)

    async def before(self, rest: ToolCall, may_move: Move, last: Chord | None = None) -> Taker:
        """Check a step just before it is sent. Return the kind of control that receives it.

        `rest` is still to do; `last` is the chord sent before. Raise ToolFailed if the step may not be sent.
        """
        targets = self._controller.key_targets
        if self._judged is None:
            self._judged = await targets.now()
        is_press = rest.name == "key" and chords(rest.text("keys"))[0].may_press
        # A field may hand the keyboard on at any sign, such as the last digit of a code: programs tell of that late.
        look = targets.left if last and (last.may_leave or is_press) else targets.now
        now = await look(self._judged)
        # An open menu does not say as what has the keyboard which entry it marks: a press there is judged by itself.
        is_choice = is_press and not self._judged.is_field
        if now != self._judged or (last and (last.may_open_menu or is_choice)):
            self._check_move(self._judged, now, may_move)
            if refusal := await self._admit(rest):
                raise barred(refusal)
            was, self._judged = self._judged, targets.take(rest.id) or await targets.now(now)
            self._check_move(was, self._judged, may_move)  # because it may have gone while the gate looked
        if not targets.is_still(self._judged):
            raise KeyboardMoved
        checks = KeyChecks(self._still, self._taking)
        self._controller.input.judged(self._judged.landing, checks, is_field=self._judged.is_field)
        return self._judged.taker

    async def _still(self) -> None:
        if self._judged is None or await self._controller.key_targets.now(self._judged) != self._judged:
            raise KeyboardMoved

    async def _taking(self) -> None:
        if self._judged is None or not await self._controller.key_targets.may_take(self._judged):
            raise KeyboardMoved

    def _check_move(self, was: KeyTarget, now: KeyTarget, may_move: Move) -> None:
        if not was.is_elsewhere(now) or may_move is Move.ANYWHERE:
            return
        if may_move is Move.NOWHERE or self._pid(was) != self._pid(now) or not self._pid(now):
            what = "The keyboard went from {was!r} to {now!r}."
            raise ToolFailed(Phrase(what, {"was": was.title, "now": now.title}))

    def _pid(self, target: KeyTarget) -> int:
        windows = self._controller.backend.windows.all()
        return next((window.pid for window in windows if window.ref == target.landing.window), 0)


_SHOWN_CHARS = 120
_DRAG_MS = 200
_ALIKE = 4
_NO_RECEIPT = "none"
_LEAVING = "\n\r\t"
_OPENING_S = 1.0
_LOOK_AGAIN_S = 0.1
VALUE = "value"
"""The argument of a call that sets something: its target is a field, and not the label with the same name."""
_PAIR = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*[,;]\s*(-?\d+(?:\.\d+)?)\s*")
_BY_A_CLICK = "by a click"
_COUNTED = {1: "Clicked", 2: "Double-clicked", 3: "Triple-clicked"}


async def click(controller: DesktopController, call: ToolCall) -> ToolResult:
    press = Press(_button_of(call), call.integer("count", 1), modifiers(call.text("modifiers")))
    aim = await controller.apart(await controller.aim_to_press(target_of(call), call.id), press)
    if call.text("receipt") == _NO_RECEIPT:
        await controller.act_unseen(lambda: controller.press(aim, press))
        seen = verification.UNSEEN
    else:
        standing = _standing(controller, aim.element)

        async def do() -> None:
            await controller.press(aim, press)
            standing.sent()

        is_in_dialog = aim.element is not None and aim.element.is_in_dialog
        proof = Proving(
            standing.proof,
            is_press=True,
            is_in_dialog=is_in_dialog,
            only_closes=verification.only_closes(aim.element),
            may_save=True,
        )
        seen = await controller.act(do, aim.place, proof=proof)
    button = "" if press.button is Button.LEFT else f" with the {press.button} button"
    payload: dict[str, JsonValue] = {
        "x": aim.point.x,
        "y": aim.point.y,
        "button": press.button.value,
        "count": press.count,
        "target": aim.element.name if aim.element else "",
        "route": aim.route,
    }
    return _done(
        call, payload, f"{_COUNTED[press.count]} {aim.told(controller.screen_capture.model_space())}{button}.", seen
    )


def _standing(controller: DesktopController, pressed: Element | None) -> Standing:
    return Standing(
        lambda _: verification.of_click(controller.backend, pressed),
        controller.clock,
        controller.keeping_fields,
        springs=pressed is not None and pressed.role == TOGGLE_BUTTON,
    )


async def move(controller: DesktopController, call: ToolCall) -> ToolResult:
    aim = await controller.aim(target_of(call), call.id)

    async def do() -> None:
        await controller.screen_capture.point_out(aim)
        await controller.input.move(aim.point)

    seen = await controller.act(do, aim.place, Patience())
    return _done(
        call,
        {"x": aim.point.x, "y": aim.point.y, "route": aim.route},
        f"The pointer is on {aim.told(controller.screen_capture.model_space())}.",
        seen,
    )


async def drag(controller: DesktopController, call: ToolCall) -> ToolResult:
    press = Press(_button_of(call), 1, modifiers(call.text("modifiers")))
    first, *others = path_of(call)
    aims = [
        await controller.aim_to_press(first, call.id),
        *[await controller.aim(target, call.id) for target in others],
    ]
    points = [aim.point for aim in aims]
    seconds = call.integer("duration_ms", _DRAG_MS) / 1000
    places = bounds_of(aim.place for aim in aims)
    dragged = aims[0].element or await controller.preview.at(points[0])
    # GTK 4 and Chromium report nothing of a slider that moves.
    slider = dragged if dragged and dragged.role in VALUES and not dragged.is_("editable") else None
    thing = None if slider else dragged

    async def ask() -> Proof:
        return await (_of_arrival(controller, thing) if thing else verification.of_click(controller.backend, slider))

    # A thing arrives after it was marked by the press.
    proof = Proving(ask, at_rest=thing is not None)

    async def do() -> None:
        await controller.screen_capture.point_out(aims[0])
        await controller.drag(aims, press, seconds)

    seen = await controller.act(do, places, proof=proof)
    space = controller.screen_capture.model_space()
    payload: dict[str, JsonValue] = {"path": [[p.x, p.y] for p in points], "button": press.button.value}
    return _done(call, payload, f"Dragged from {aims[0].told(space)} to {aims[-1].told(space)}.", seen)


async def _of_arrival(controller: DesktopController, dragged: Element) -> Proof:
    """Look where a thing is that was dragged. Empty if it is where it was, or cannot be told from others."""
    if not dragged.name.strip():
        return Proof()
    try:
        found = await controller.backend.accessibility.find(dragged.name, role=dragged.role, limit=_ALIKE)
    except ToolFailed:  # because the act was carried out, whatever can be read of it
        return Proof()
    same = [one.element for one in found if (one.element.name, one.element.pid) == (dragged.name, dragged.pid)]
    if len(same) != 1 or same[0].box == dragged.box:
        return Proof()
    place = controller.screen_capture.model_space().point(same[0].box.center)
    return Proof((Arrived(Named(dragged.role, dragged.name), place),))


async def scroll(controller: DesktopController, call: ToolCall) -> ToolResult:
    notches = (call.integer("dx"), call.integer("dy"))
    if notches == (0, 0):
        raise ToolMisuse("Nothing to scroll: give dy (notches, positive is down) or dx (positive is right).")
    held = modifiers(call.text("modifiers"))
    target = target_of(call)
    aim = await controller.aim(target, call.id) if target != Target() else None
    was = controller.backend.pointer.position()

    async def do() -> None:
        if aim is None:
            _check_unmoved(controller, was)
        else:
            await controller.screen_capture.point_out(aim)
        await controller.input.scroll(aim.point if aim else None, notches, held)

    # Pages scroll smoothly: what still moves would count as the next act's effect.
    seen = await controller.act(do, proof=Proving(at_rest=True))
    payload: dict[str, JsonValue] = {"dx": notches[0], "dy": notches[1]}
    if aim:
        payload |= {"x": aim.point.x, "y": aim.point.y}
    return _done(
        call,
        payload,
        f"Scrolled {_notches(*notches)}{f' on {aim.told(controller.screen_capture.model_space())}' if aim else ''}.",
        seen,
    )


async def type_text(controller: DesktopController, call: ToolCall, admit: Admit) -> ToolResult:
    text = call.text("text")
    if not text:
        raise ToolMisuse("There is no text to type: give it.")
    if strayed := controller.opener.strayed():
        opened, front = strayed
        told = Phrase(
            "Nothing was typed: {opened!r} was opened, but the keyboard is in {front!r} now.",
            {"opened": opened.title, "front": front.title},
        )
        raise ToolFailed(told, facts=[await controller.asked_in(front)] if front.is_dialog else ())
    routes: list[str] = []
    steps = Steps(controller, call, admit)

    async def do() -> None:
        routes.extend(route.value for route in await controller.input.type_text(text, steps.before_text))
        standing.sent()

    into = controller.active_window()
    read = partial(verification.of_typing, controller.backend, text)
    standing = Standing(read, controller.clock, controller.keeping_fields)
    has_return = "\n" in text
    proof = Proving(standing.proof, by_changes=False, may_close=has_return, may_save=has_return)
    seen = await controller.act(do, proof=proof)
    if into and is_terminal(into.app) and seen.proof == "suspected no-op":
        seen = seen.with_doubt(Remark("A terminal takes a password, for one, without showing it."))
    payload: dict[str, JsonValue] = {"text": clip_line(text, _SHOWN_CHARS), "length": len(text), "routes": routes}
    return _done(call, payload, f"Typed {len(text)} characters.", seen)


async def press_keys(controller: DesktopController, call: ToolCall, admit: Admit) -> ToolResult:
    pressed = chords(call.text("keys"))
    repeat, hold_s = call.integer("repeat", 1), call.integer("hold_ms") / 1000
    before = Steps(controller, call, admit).before_chords
    moves_caret = all(one.moves_caret for one in pressed)
    caret = await verification.caret_in(controller.backend) if moves_caret else None
    ask = partial(verification.of_caret, controller.backend, caret) if caret else None
    proof = Proving(ask, is_press=pressed[-1].may_press, may_save=not moves_caret)
    seen = await controller.act(lambda: controller.input.press(pressed, repeat, hold_s, before), proof=proof)
    if caret and seen.proof == "suspected no-op":
        seen = seen.with_doubt(Remark(f"This moves only the caret, which stays at {caret.at}."))
    times = f" {repeat} times" if repeat > 1 else ""
    payload: dict[str, JsonValue] = {"keys": call.text("keys"), "repeat": repeat}
    return _done(call, payload, f"Pressed {call.text('keys')}{times}.", seen)


async def button(controller: DesktopController, call: ToolCall, *, down: bool) -> ToolResult:
    button = _button_of(call)
    target = target_of(call)
    find = controller.aim_to_press if down else controller.aim
    aim = await find(target, call.id) if target != Target() else None
    at = aim.point if aim else pointer_at(controller.backend.pointer)

    async def do() -> None:
        if aim:
            await controller.screen_capture.point_out(aim)
            await controller.input.move(aim.point)
            await controller.resolver.hit_test(aim)
        else:
            _check_unmoved(controller, at)
        await (controller.input.button_down(button) if down else controller.input.button_up(button))

    seen = await controller.act(do, Rect(at.x, at.y, 1, 1))
    word = "held down" if down else "let go"
    payload: dict[str, JsonValue] = {"x": at.x, "y": at.y, "button": button.value}
    return _done(
        call, payload, f"The {button} button is {word} at {controller.screen_capture.model_space().point(at)}.", seen
    )


def _check_unmoved(controller: DesktopController, judged: Point | None) -> None:
    """Raise ToolFailed if the pointer is no longer where the policy judged it: the person moved it."""
    if controller.backend.pointer.position() != judged:
        raise ToolFailed("The pointer was moved meanwhile. Nothing was done.", "Say where, or look again.")


async def press(controller: DesktopController, call: ToolCall) -> ToolResult:
    tree = controller.backend.accessibility
    element = await _element_of(controller, call)
    actions: list[str] = []

    async def do() -> None:
        if not element.is_(UNPLACED):
            await controller.screen_capture.point_out(Aim(element.box.center, "ref", element))
        await controller.resolver.check_name(element)
        try:
            actions.append(await tree.press(element.ref))
        except NoAction:  # because GTK 4 gives its check boxes none
            await _click(controller, element)
            actions.append(_BY_A_CLICK)
        standing.sent()

    standing = _standing(controller, element)
    window = _window_of(controller, element)
    proof = Proving(
        standing.proof,
        is_press=True,
        window=window,
        is_in_dialog=element.is_in_dialog,
        only_closes=verification.only_closes(element),
        may_save=True,
    )
    seen = await controller.act(do, None if element.is_(UNPLACED) else element.box, proof=proof)
    payload = element_as_json(element) | {"action": actions[0]}
    by = f" ({actions[0]})" if actions[0] else ""  # because Chromium gives no name to what its buttons do
    return _done(call, payload, f"Pressed {_named(element)}{by}.", seen)


async def set_value(controller: DesktopController, call: ToolCall, admit: Admit) -> ToolResult:
    tree = controller.backend.accessibility
    text = call.text(VALUE)
    element = await _element_of(controller, call)
    if not takes_value(element):
        raise ToolFailed(Phrase("{thing} takes no value. Nothing was set.", {"thing": element.called(_SHOWN_CHARS)}))
    _check_written_back(element, text)
    held: list[str] = []

    def begin() -> Steps:
        controller.key_targets.keep(call.id, element)
        return Steps(controller, call, admit)

    async def do() -> None:
        await controller.screen_capture.point_out(Aim(element.box.center, "ref", element))
        await controller.resolver.check_name(element)
        try:
            await tree.set_value(element.ref, text)
        except NoAction:
            await _click(controller, element)
        except TakesNoValue as refusal:  # because Chromium offers no way to set a field's value
            await _enter(controller, element, text, refusal, begin)
        standing.sent()

    async def read_back(_: str) -> Proof:
        proof, now = await verification.of_setting(controller.backend, element, text)
        held.append(now)
        return proof

    standing = Standing(read_back, controller.clock, set())
    proof = Proving(standing.proof, by_changes=False, at_rest=True, window=_window_of(controller, element))
    seen = await controller.act(do, element.box, proof=proof)
    private = " Passwords are not read back." if element.role == SECRET else ""
    payload = element_as_json(element) | {"value": clip_line(held[-1], _SHOWN_CHARS)}
    return _done(call, payload, f"Set {_named(element)}.{private}", seen)


async def _element_of(controller: DesktopController, call: ToolCall) -> Element:
    """Named by its ref or its visible name. Raises ToolFailed if it is no control."""
    if call.has("ref"):
        return await controller.preview.element(call.id, _of_a_program(call.text("ref")))
    element = (await controller.aim(target_of(call), call.id)).element
    if element is None or is_written(element.ref):
        what = Phrase("No program names anything {name!r}.", {"name": call.text("target")})
        raise ToolFailed(what, await _meant_by(controller, call), facts=[Missing(call.text("target"))])
    return element


async def _meant_by(controller: DesktopController, call: ToolCall) -> str:
    """What may be meant by a name that only the screen shows: the one control whose name begins with it."""
    name = call.text("target")
    found = [match.element for match in await controller.backend.accessibility.find(name)]
    alike = [one for one in found if one.role in OPERABLE and normal(one.name).startswith(normal(name))]
    return (
        f'There is {_named(alike[0])}: {call.name} ref="{alike[0].ref}".' if len(alike) == 1 else "Use computer_click."
    )


def _check_written_back(element: Element, text: str) -> None:
    """Raise ToolMisuse for a value that is how a reading shows the field's text, and not that text."""
    if is_preview(text, element):
        raise ToolMisuse(
            f"This is only the beginning of what {element.ref} holds, {element.length} characters. Nothing was set. "
            f'Read all of it with read_screen view="find" query="{element.ref}", and write all that is to stay.'
        )
    if LINE_BREAK in text and LINE_BREAK not in element.value:
        raise ToolMisuse(f"{LINE_BREAK} is how a line break is shown. Nothing was set. Write the line break itself.")


async def _enter(
    controller: DesktopController, element: Element, text: str, refusal: TakesNoValue, begin: Callable[[], Steps]
) -> None:
    """Enter a value by click and keyboard, for programs such as Chromium that do not accept one.

    Raises `refusal`, with which the program did not accept it, if this is impossible, too. Line breaks and tabs are not
    typed, because they submit a form or leave the field. The policy has judged the value for this element. After the
    click, `begin` returns the checks before each step: if the focus has moved, the policy judges again.
    """
    is_list = element.role == COMBO_BOX and not element.is_("editable")
    is_typable = controller.backend.keyboard.can_type(text) if is_list else element.is_("editable")
    if not is_typable or any(sign in text for sign in _LEAVING):
        raise refusal
    await _click(controller, element)
    if is_list:
        await _choose_in_list(controller, element, text, refusal)
        return
    await _until_focused(controller, element)
    steps = begin()
    await controller.input.press([chord("ctrl+a")], 1, 0.0, steps.before_chords)
    if text:
        await controller.input.type_text(text, steps.before_text)
    else:
        await controller.input.press([chord("Delete")], 1, 0.0, steps.before_chords)


async def _click(controller: DesktopController, element: Element) -> None:
    await controller.press(await controller.resolver.at_ref(element.ref), Press())


async def _until_focused(controller: DesktopController, element: Element) -> None:
    """Wait until the element has the focus, or for a second, because browsers report it late."""
    limit = controller.clock.now() + _OPENING_S
    while not await controller.backend.accessibility.has_keyboard(element.ref) and controller.clock.now() < limit:
        await controller.backend.windows.changed(_LOOK_AGAIN_S)


async def _choose_in_list(controller: DesktopController, element: Element, text: str, refusal: TakesNoValue) -> None:
    """Choose an entry in a combo box's list, which was clicked: by a click where its place is told, else by typing.

    Return is pressed only while the box says that its list is open: else it submits a form.
    """
    limit = controller.clock.now() + _OPENING_S
    while not (_lists(controller, element) or await _is_open(controller, element)):
        if controller.clock.now() > limit:
            raise refusal
        await controller.backend.windows.changed(_LOOK_AGAIN_S)
    if entry := await _entry_in_sight(controller, element, text):
        await controller.press(entry, Press())
        return
    if not await _is_open(controller, element):
        if _lists(controller, element):
            await controller.input.press([chord("Escape")], 1, 0.0)
        raise refusal
    await controller.input.type_text(text)
    if await _is_open(controller, element):
        await controller.input.press([chord("Return")], 1, 0.0)


async def _entry_in_sight(controller: DesktopController, element: Element, text: str) -> Aim | None:
    """Return the aim at the entry of that name in the pop-up that shows a combo box's list; None if none is found.

    GTK 4 describes its entries to nobody, so they may have to be read.
    """
    if not (areas := _lists(controller, element)):
        return None
    try:
        aim = await controller.resolver.at_name(text)
    except ToolFailed:  # because typing may still choose it
        return None
    return aim if any(area.contains(aim.point) for area in areas) else None


def _lists(controller: DesktopController, element: Element) -> list[Rect]:
    """The areas of the pop-ups that may be a combo box's list: those of its program."""
    shown = controller.backend.windows.shown()
    return [one.area for one in shown if one.is_popup and not one.is_tip and one.pid and one.pid == element.pid]


async def _is_open(controller: DesktopController, element: Element) -> bool:
    """True if the combo box says that its list is open. Qt 5 and GTK 4 say so of none."""
    return (await controller.backend.accessibility.element(element.ref)).is_("expanded")


def _window_of(controller: DesktopController, element: Element) -> Window | None:
    """Any window of the element's program if no window has its title."""
    own = [window for window in controller.backend.windows.all() if element.pid and window.pid == element.pid]
    return next((window for window in own if window.title == element.window), own[0] if own else None)


def _of_a_program(ref: str) -> str:
    """The ref if it can be an element's. Raises ToolMisuse if it names text that OCR read."""
    if is_written(ref):
        raise ToolMisuse(f"{ref} is text that was read off the screen. It can be clicked: computer_click ref={ref!r}.")
    return ref


def _named(element: Element) -> str:
    return f"{element.ref} {element.role} {clip_line(element.name, _SHOWN_CHARS)!r}"


def element_as_json(element: Element) -> dict[str, JsonValue]:
    name = clip_line(element.name, _SHOWN_CHARS)
    box = element.box
    places: list[JsonValue] = [box.x, box.y, box.width, box.height]
    return {"ref": element.ref, "role": element.role, "name": name, "box": places, "window": element.window}


def _done(call: ToolCall, payload: dict[str, JsonValue], sentence: str, seen: Receipt) -> ToolResult:
    return told_with(ToolResult(True, call.name, payload, sentence), seen)


def told_with(done: ToolResult, seen: Receipt) -> ToolResult:
    """Return the result of an act, whose echo says what was done, with what Wisp saw of its effect."""
    return replace(
        done,
        payload={**done.payload, **seen_in(seen)},
        llm_echo=f"{done.llm_echo} {seen.sentence}",
        facts=seen.facts,
        llm_brief=f"{done.llm_echo} {seen.brief}".rstrip(),
    )


def seen_in(seen: Receipt) -> dict[str, JsonValue]:
    """A receipt as a call's data, with its area if a part changed that no program described."""
    told: dict[str, JsonValue] = {
        "verdict": seen.verdict,
        "proof": seen.proof,
        "window": seen.focus,
    }
    if seen.changes:
        told["changes"] = [change.said for change in seen.changes]
    part = seen.unsaid
    return told | ({CHANGED_PART: [part.x, part.y, part.width, part.height]} if part else {})


ELEMENT = (
    Param("ref", description="an element's ref, such as e12", aliases=("element_ref", "element_id")),
    Param(
        "target",
        description="what it is called on the screen, such as Save",
        aliases=("description", "element", "name", "label", "selector"),
    ),
)
"""The arguments that say which element is meant."""


def target_of(call: ToolCall) -> Target:
    """Raises ToolMisuse if only one coordinate is given."""
    if call.has("x") != call.has("y"):
        raise ToolMisuse("A point needs both x and y.")
    spot = None
    if call.has("x"):
        spot = Spot(call.number("x"), call.number("y"), call.text("capture"), call.text("space"))
    return Target(spot, call.text("ref"), call.text("target"), is_field=call.has(VALUE))


def _button_of(call: ToolCall) -> Button:
    return Button(call.text("button", Button.LEFT.value))


def path_of(call: ToolCall) -> list[Target]:
    """Return the points of a drag, given by `path`, or by `from` and `to`."""
    if call.has("path"):
        found = [_place(part, call) for part in _pairs(call.text("path"))]
        if len(found) < 2 or any(target.spot is None for target in found):
            raise ToolMisuse('path needs two points or more, as in path="600,500 750,560".')
        return found
    if not (call.has("from") and call.has("to")):
        raise ToolMisuse('Drag from where to where? path="600,500 750,560", or from="report.txt" to="Trash".')
    return [_place(call.text("from"), call), _place(call.text("to"), call)]


def menu_entries_of(call: ToolCall) -> list[str]:
    """Return the names of the menu bar's entry and the entries below it that a call chooses, in order."""
    return [part.strip() for part in call.text("path").replace("›", ">").split(">") if part.strip()]


def _pairs(text: str) -> list[str]:
    """Pairs such as `12,34`, separated by blanks. Blanks at a comma are removed."""
    close = ",".join(part.strip() for part in text.split(","))
    return [word for word in close.split() if "," in word.strip(",")]


def _place(text: str, call: ToolCall) -> Target:
    """A position if the text is written as `x,y`, else a visible name."""
    pair = _PAIR.fullmatch(text)
    if pair is None:
        return Target(name=text)
    return Target(Spot(float(pair[1]), float(pair[2]), call.text("capture"), call.text("space")))


def _notches(dx: int, dy: int) -> str:
    ways = ((dy, "down", "up"), (dx, "right", "left"))
    return " and ".join(f"{abs(n)} {more if n > 0 else less}" for n, more, less in ways if n)
