"""From events to views."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agent import agent_events as agent
from app.agent.recording import Spent
from app.base.errors import Remedy
from app.base.facts import Fact, Failed, Proposed, Ran, Seen, TakenBack, Undoable, WindowChanged, WindowEvent
from app.base.phrases import Phrase
from app.protocol.call import JsonValue, Media
from app.ui.bubble.speech import pieces
from app.ui.orb.state import Orb
from app.ui.presenter import cards, offers, presenter
from app.ui.presenter.presenter import SAID_CHARS, Presenter
from app.ui.presenter.view import (
    Approval,
    Asked,
    Card,
    ChecklistLine,
    Command,
    NoticeItem,
    Offer,
    ShownChecklist,
    ShownPicture,
    SpokenItem,
    Status,
    TakeBack,
    TurnOutcome,
    View,
)
from app.ui.presenter.wording import Fold, folded


def shown(
    events: Iterable[agent.AgentEvent], view: View | None = None, now: float = 5.0, how: Presenter | None = None
) -> View:
    view = View() if view is None else view
    how = how or Presenter()
    for event in events:
        view = how.after(view, event, now)
    return view


def the_card(view: View) -> Card:
    (card,) = [item for item in view.items if isinstance(item, Card)]
    return card


def test_a_turn_begins_with_the_persons_words_and_thinks() -> None:
    view = shown([agent.TurnStarted("t1", "open the calculator")])
    assert view.items == (Asked("i0", "open the calculator"),)
    assert (view.orb, view.running) == (Orb.THINKING, True)


def test_pieces_of_one_speech_become_one_item() -> None:
    view = shown([agent.SayDelta("s1", "warm", "  Hel"), agent.SayDelta("s1", "warm", "lo.")])
    assert view.items == (SpokenItem("i0", "s1", "warm", "Hello."),)


def test_speeches_of_two_calls_are_two_items() -> None:
    view = shown([agent.SayDelta("s1", "warm", "One."), agent.SayDelta("s2", "calm", "Two.")])
    assert [(item.tone, item.text) for item in view.items if isinstance(item, SpokenItem)] == [
        ("warm", "One."),
        ("calm", "Two."),
    ]


def test_a_megabyte_of_speech_is_cut_into_items_and_nothing_is_lost() -> None:
    text = "word " * 200_000
    view = shown(agent.SayDelta("s1", "", text[start : start + 5000]) for start in range(0, len(text), 5000))
    said = [item for item in view.items if isinstance(item, SpokenItem)]
    assert "".join(item.text for item in said) == text
    assert max(len(item.text) for item in said) <= SAID_CHARS
    assert {item.call_id for item in said} == {"s1"}


def test_a_card_opens_at_the_tag_and_closes_with_the_result() -> None:
    begun = shown([agent.TagStart("1", "computer_click", {"target": "7"})])
    assert the_card(begun) == Card("c0:1", "computer_click", "pointer", "Clicking", "7", since=5.0)
    assert begun.doing == "Clicking 7"
    ended = shown([agent.ToolFinished("1", "computer_click", True, "clicked", {}, elapsed_s=0.4)], begun)
    card = the_card(ended)
    assert (card.verb, card.object, card.status, card.elapsed_s) == ("Clicked", "7", Status.OK, 0.4)
    assert ended.doing == ""


def test_a_call_that_the_person_stopped_did_not_fail() -> None:
    begun = shown([agent.TagStart("1", "wait_for", {"text": "Ready"})])
    reason = {"reason": "The waiting was stopped.", "interrupted": True}
    card = the_card(shown([agent.ToolFinished("1", "wait_for", False, "tool_error", reason)], begun))
    assert (card.verb, card.object, card.status) == ("Waiting", "for “Ready”", Status.STOPPED)


def test_arguments_that_arrive_later_complete_what_a_card_says() -> None:
    view = shown([agent.TagStart("1", "open_app"), agent.ToolRunning("1", "open_app", {"name": "Calculator"})])
    assert (the_card(view).object, view.doing) == ("Calculator", "Opening Calculator")


def test_the_result_may_know_better_what_was_acted_on() -> None:
    view = shown(
        [
            agent.TagStart("1", "computer_type", {"text": "12*7="}),
            agent.ToolFinished("1", "computer_type", True, "typed", {"text": "12*7=…", "length": 500}),
        ]
    )
    assert the_card(view).object == "“12*7=…”"


def test_a_failed_card_says_why() -> None:
    view = shown(
        [
            agent.TagStart("1", "open_app", {"name": "Fotoshop"}),
            agent.ToolFinished("1", "open_app", False, "tool_error", facts=(Failed(Phrase("There is no such app.")),)),
        ]
    )
    card = the_card(view)
    assert (card.status, card.verb, card.sentence) == (Status.FAILED, "Could not open", "There is no such app.")


def test_what_nobody_could_check_is_not_called_done() -> None:
    view = shown(
        [
            agent.TagStart("1", "computer_key"),
            agent.ToolFinished("1", "computer_key", True, "pressed", {"verified": False}),
        ]
    )
    assert the_card(view).status is Status.UNVERIFIED


@pytest.mark.parametrize(
    ("proof", "status"),
    [
        ("unverifiable", Status.UNVERIFIED),
        ("confirmed", Status.OK),
        ("suspected no-op", Status.UNVERIFIED),
    ],
)
def test_only_what_was_seen_to_happen_counts_as_done(proof: str, status: Status) -> None:
    ended = agent.ToolFinished("1", "computer_click", True, "c", facts=(Seen(proof),))
    view = shown([agent.TagStart("1", "computer_click"), ended])
    assert the_card(view).status is status


def test_a_command_that_failed_shows_its_status_and_its_output() -> None:
    payload = {"stdout": "a\n", "stderr": "\x1b[31mno such file\x1b[0m\n"}
    view = shown(
        [
            agent.TagStart("1", "execute_command"),
            agent.ToolFinished("1", "execute_command", True, "e", payload, facts=(Ran(2),)),
        ]
    )
    card = the_card(view)
    assert (card.status, card.sentence) == (Status.FAILED, "exit code 2")
    assert card.output == "a\n\nno such file\n"


def test_the_next_picture_shows_where_it_clicked_before() -> None:
    media = Media(b"png", "image/png", 640, 400)
    capture = {"region": [0, 0, 1280, 800]}
    view = shown(
        [
            agent.TagStart("1", "computer_click"),
            agent.ToolFinished("1", "computer_click", True, "clicked", {"x": 200, "y": 100}),
            agent.TagStart("2", "screen_capture"),
            agent.ToolFinished("2", "screen_capture", True, "captured", capture, media=(media,)),
            agent.TagStart("3", "screen_capture"),
            agent.ToolFinished("3", "screen_capture", True, "captured", capture, media=(media,)),
        ]
    )
    rings = [item.picture.ring for item in view.items if isinstance(item, Card) and item.picture]
    assert rings == [(100, 50), None]


def test_a_wait_counts_down() -> None:
    view = shown(
        [agent.TagStart("1", "wait_until"), agent.ToolProgress("1", "wait_until", {"left_s": 15, "limit_s": 60})]
    )
    card = the_card(view)
    assert (card.left_s, card.share) == (15.0, 0.75)


def test_an_unknown_tool_gets_a_plain_row_with_its_name() -> None:
    card = the_card(shown([agent.TagStart("1", "paint_the_fence", {})]))
    assert (card.glyph, card.verb, card.object) == ("spark", "Using", "paint the fence")


@pytest.mark.parametrize("tool", ["say", "attempt_completion", "wait_for_human_input"])
def test_calls_that_only_talk_have_no_card(tool: str) -> None:
    assert shown([agent.TagStart("1", tool), agent.ToolFinished("1", tool, True, tool)]).items == ()


def test_a_voiced_tool_of_any_name_has_no_card() -> None:
    assert shown([agent.TagStart("1", "sing", {}, voiced=True)]).items == ()


def test_a_picture_shows_where_it_clicked() -> None:
    media = Media(b"png", "image/png", 100, 50, "the screen")
    view = shown(
        [
            agent.TagStart("1", "computer_click"),
            agent.ToolFinished("1", "computer_click", True, "clicked", {"x": 40, "y": 20}, media=(media,)),
        ]
    )
    assert the_card(view).picture == ShownPicture(b"png", 100, 50, "the screen", (40, 20))


def test_a_click_outside_the_picture_draws_no_ring() -> None:
    media = Media(b"png", "image/png", 100, 50)
    view = shown(
        [
            agent.TagStart("1", "computer_click"),
            agent.ToolFinished("1", "computer_click", True, "clicked", {"x": 400, "y": 20}, media=(media,)),
        ]
    )
    assert the_card(view).picture == ShownPicture(b"png", 100, 50, "", None)


def test_only_the_newest_pictures_are_kept() -> None:
    media = Media(b"png", "image/png", 1, 1)
    view = View()
    for number in range(cards.MOST_PICTURES + 5):
        call = str(number)
        view = shown(
            [
                agent.TagStart(call, "screen_capture"),
                agent.ToolFinished(call, "screen_capture", True, "captured", media=(media,)),
            ],
            view,
        )
    pictured = [isinstance(item, Card) and item.picture is not None for item in view.items]
    assert pictured == [False] * 5 + [True] * cards.MOST_PICTURES


def test_a_long_file_streams_through_its_card_and_the_end_is_kept() -> None:
    lines = "".join(f"+line {number}\n" for number in range(10_000))
    view = shown(
        [
            agent.TagStart("1", "replace_in_file", {"path": "a.txt"}),
            *(agent.TagDelta("1", "diff", lines[start : start + 3000]) for start in range(0, len(lines), 3000)),
        ]
    )
    card = the_card(view)
    assert card.body.endswith("+line 9999\n")
    assert len(card.body) + card.body_left_out == len(lines)
    assert len(card.body) <= 20_000


def test_a_long_drawing_keeps_its_beginning_while_its_picture_grows() -> None:
    drawing = "<svg>" + "<rect/>" * 8_000
    start, *rest = (agent.TagDelta("1", "svg", drawing[at : at + 3000]) for at in range(0, len(drawing), 3000))
    view = shown([agent.TagStart("1", "create_svg"), agent.TagDelta("1", "name", "Sun"), start])
    view = shown(rest, cards.with_draft(view, "1", ShownPicture(b"draft", 4, 3)))
    assert the_card(view).body == drawing
    done = shown([agent.ToolFinished("1", "create_svg", True, "create_svg", media=(Media(b"sun", "", 4, 3),))], view)
    assert len(the_card(done).body) <= 20_000
    late = the_card(cards.with_draft(done, "1", ShownPicture(b"draft", 4, 3)))
    assert late.picture == ShownPicture(b"sun", 4, 3)


def test_only_the_argument_that_a_card_shows_is_kept_as_its_text() -> None:
    view = shown(
        [
            agent.TagStart("1", "write_file"),
            agent.TagDelta("1", "path", "a.txt"),
            agent.TagDelta("1", "content", "hello"),
        ]
    )
    assert the_card(view).body == "hello"


def test_output_progress_and_countdown_reach_the_card_while_it_runs() -> None:
    view = shown(
        [
            agent.TagStart("1", "execute_command"),
            agent.ToolProgress("1", "output", {"output": "one\n"}),
            agent.ToolProgress("1", "output", {"output": "two\n", "left_s": 3, "fraction": 0.5}),
        ]
    )
    card = the_card(view)
    assert (card.output, card.left_s, card.share) == ("one\ntwo\n", 3.0, 0.5)


def test_an_approval_waits_with_its_card_until_it_is_answered() -> None:
    asked = shown(
        [
            agent.TurnStarted("t1", ""),
            agent.TagStart("1", "execute_command", {"command": "rm a"}),
            agent.ApprovalWanted("a1", "1", "execute_command", "Wisp wants to delete a.", "rm a"),
        ]
    )
    approval = Approval("aa1", "a1", "1", "Wisp wants to delete a.", "rm a")
    assert asked.open_approval == approval
    assert (the_card(asked).status, asked.orb, asked.unread) == (Status.WAITING, Orb.NEEDS_YOU, 1)
    allowed = shown([agent.ApprovalAnswered("a1", True)], asked)
    assert allowed.open_approval is None
    assert (the_card(allowed).status, allowed.orb) == (Status.RUNNING, Orb.BUSY)


@pytest.mark.parametrize(
    "ended",
    [agent.ApprovalAnswered("a1", True), agent.ApprovalAnswered("a1", False, is_withdrawn=True)],
    ids=["allowed", "withdrawn"],
)
def test_after_a_question_that_belongs_to_no_turn_nothing_waits(ended: agent.ApprovalAnswered) -> None:
    asked = shown([agent.ApprovalWanted("a1", "", "computer_click", "May Claude Code click?")])
    assert asked.orb is Orb.NEEDS_YOU
    view = shown([ended], asked)
    assert (view.orb, view.open_approval) == (Orb.IDLE, None)
    assert [item.allowed for item in view.items if isinstance(item, Approval)] == [None if ended.is_withdrawn else True]


def test_the_end_of_a_turn_closes_everything_that_was_open() -> None:
    view = shown(
        [
            agent.TurnStarted("t1", "go"),
            agent.TagStart("1", "execute_command"),
            agent.ApprovalWanted("a1", "1", "execute_command", "May I?"),
            agent.TurnEnded("t1", agent.Outcome.STOPPED, "Stopped."),
        ]
    )
    assert the_card(view).status is Status.STOPPED
    assert view.open_approval is None
    assert view.items[-1] == TurnOutcome("i3", agent.Outcome.STOPPED, "Stopped.")
    assert (view.running, view.orb) == (False, Orb.IDLE)


@pytest.mark.parametrize(
    ("outcome", "orb"),
    [
        (agent.Outcome.FINISHED, Orb.IDLE),
        (agent.Outcome.STOPPED, Orb.IDLE),
        (agent.Outcome.WAITING, Orb.NEEDS_YOU),
        (agent.Outcome.FAILED, Orb.ERROR),
    ],
)
def test_the_orb_keeps_how_a_turn_came_out_until_a_failure_is_seen(outcome: agent.Outcome, orb: Orb) -> None:
    ended = shown([agent.TurnStarted("t1", "go"), agent.TurnEnded("t1", outcome, "")])
    assert ended.orb is orb
    assert shown([agent.StateChanged(agent.State.IDLE)], ended).orb is orb
    seen = Orb.IDLE if orb is Orb.ERROR else orb  # a question stays until it is answered
    assert (presenter.attended(ended).orb, presenter.unattended(ended).orb) == (seen, seen)


def test_words_that_were_spoken_are_not_shown_twice() -> None:
    view = shown(
        [
            agent.TurnStarted("t1", "go"),
            agent.SayDelta("s1", "", "It is done: "),
            agent.SayDelta("s1", "", "84."),
            agent.TurnEnded("t1", agent.Outcome.FINISHED, "It is done: 84."),
        ]
    )
    assert [type(item) for item in view.items] == [Asked, SpokenItem]


def test_a_failure_is_told_once() -> None:
    view = shown(
        [
            agent.TurnStarted("t1", "go"),
            agent.TagStart("1", "web_fetch"),
            agent.ToolFinished("1", "web_fetch", False, "tool_error", {}),
            agent.SayDelta("s1", "", "No network."),
            agent.TurnEnded("t1", agent.Outcome.FAILED, "No network."),
        ]
    )
    assert [type(item) for item in view.items] == [Asked, Card, TurnOutcome, Offer]
    assert view.items[-1] == Offer("i4", ("go",), ("Try again",))


def test_what_was_only_not_understood_is_calm_and_offers_help() -> None:
    sentence = "I cannot read “frobnicate”."
    view = shown(
        [
            agent.TurnStarted("t1", "frobnicate"),
            agent.SayDelta("s1", "apologetic", sentence),
            agent.TurnEnded("t1", agent.Outcome.FAILED, sentence),
        ]
    )
    assert [type(item) for item in view.items] == [Asked, SpokenItem, Offer]
    assert (view.orb, view.items[-1]) == (Orb.IDLE, Offer("i2", ("What can you do?",), ("What can you do?",)))


def test_what_could_be_said_instead_is_offered_with_help_in_the_person_s_language() -> None:
    sentence = "I know no key called “entr”; I can “press enter” or others."
    said = [agent.TurnStarted("t1", "press entr"), agent.SayDelta("s1", "apologetic", sentence)]
    ended = agent.TurnEnded("t1", agent.Outcome.FAILED, sentence, offers=("press ctrl+s", 'type "abc"'))
    view = shown([*said, ended], how=Presenter(str.upper))
    answers = ("press ctrl+s", 'type "abc"', "WHAT CAN YOU DO?")
    assert view.items[-1] == Offer("i2", answers, answers)
    spoken = view.items[-2]
    assert isinstance(spoken, SpokenItem)
    assert (spoken.text, spoken.tone) == (sentence, "calm")


def test_a_result_offers_what_may_be_said_next() -> None:
    said = [agent.TurnStarted("t1", "find Save"), agent.SayDelta("s1", "warm", "Two fit: “Save” and “Save as”.")]
    ended = agent.TurnEnded("t1", agent.Outcome.FINISHED, "Two fit: “Save” and “Save as”.", offers=("click Save",))
    assert shown([*said, ended]).items[-1] == Offer("i2", ("click Save",))
    assert not any(isinstance(item, Offer) for item in shown([*said, replace(ended, offers=())]).items)


@pytest.mark.parametrize(
    ("remedy", "label"),
    [
        (Remedy.AGAIN, "Try again"),
        (Remedy.KEY, "Add key"),
        (Remedy.SETTINGS, "Open settings"),
        (Remedy.LOG, "Show log"),
    ],
)
def test_a_failure_has_the_one_button_that_mends_it(remedy: Remedy, label: str) -> None:
    end = agent.TurnEnded("t1", agent.Outcome.FAILED, "It did not work.", remedy)
    view = shown([agent.TurnStarted("t1", "go"), end])
    assert [item for item in view.items if isinstance(item, Offer)] == [Offer("i2", ("go",), (label,), remedy)]


def test_a_bug_is_said_once_with_the_log_beside_it() -> None:
    how, sorry = Presenter(), "Something went wrong. The log says what."
    alone = how.noticed(View(), "error", sorry, remedy=Remedy.LOG)
    assert alone.items == (NoticeItem("i0", "error", sorry), Offer("i1", ("",), ("Show log",), Remedy.LOG))
    ended = agent.TurnEnded("t1", agent.Outcome.FAILED, "Something in Wisp went wrong.", Remedy.LOG)
    view = shown([agent.TurnStarted("t1", "go"), ended])
    assert how.noticed(view, "error", sorry, remedy=Remedy.LOG) == view


_LOOK = Offer("i2", ("go", "what is on the screen"), ("Try again", "what is on the screen"))


@pytest.mark.parametrize(
    ("facts", "outcome", "offers", "sentence", "after"),
    [
        ((WindowChanged(WindowEvent.OPENED, "Save As"), Seen("confirmed")), "finished", (), "“Save As” opened", []),
        ((Seen("suspected no-op"),), "unverified", (), "nothing shows that it worked", []),
        ((Failed(Phrase("Nothing fits.")),), "failed", ("what is on the screen",), "Nothing fits.", [_LOOK]),
    ],
)
def test_one_act_is_one_row_that_tells_what_came_of_it(
    facts: tuple[Fact, ...], outcome: str, offers: tuple[str, ...], sentence: str, after: list[Offer]
) -> None:
    is_ok = outcome != "failed"
    view = shown(
        [
            agent.TurnStarted("t1", "go"),
            agent.TagStart("1", "computer_key", {"keys": "ctrl+s"}),
            agent.ToolFinished("1", "computer_key", is_ok, "e", facts=facts),
            agent.TagStart("2", "say", {"told_by_card": "true"}, voiced=True),
            agent.SayDelta("2", "", "What the card tells."),
            agent.ToolFinished("2", "say", True, "say"),
            agent.TurnEnded("t1", agent.Outcome(outcome), "What the card tells.", offers=offers, told_by_card=True),
        ]
    )
    assert the_card(view).sentence == sentence
    assert [item for item in view.items if not isinstance(item, (Asked, Card))] == after


def test_the_answer_to_several_acts_is_said_because_their_rows_fold() -> None:
    acts: list[agent.AgentEvent] = [
        event
        for call in "12"
        for event in (agent.TagStart(call, "computer_key"), agent.ToolFinished(call, "computer_key", True, "e"))
    ]
    said: list[agent.AgentEvent] = [
        agent.TagStart("3", "say", {"told_by_card": "true"}, voiced=True),
        agent.SayDelta("3", "", "Done."),
    ]
    ended = agent.TurnEnded("t1", agent.Outcome.FINISHED, "Done.", told_by_card=True)
    view = shown([agent.TurnStarted("t1", "go"), *acts, *said, ended])
    assert [type(row) for row in folded(view.items)] == [Asked, Fold, SpokenItem]


def test_a_card_says_only_what_a_person_can_follow() -> None:
    what = Phrase("{path!r} is gone{where!s}.", {"path": "a.txt", "where": " (3, 4)"})
    why = Failed(what, "list_files shows what there is.", advice=Phrase("Put it back."), argument="path")
    events = [
        agent.TagStart("1", "read_file", {"path": "a.txt"}),
        agent.ToolFinished("1", "read_file", False, "tool_error", {"reason": why.said}, facts=(why,)),
    ]
    assert the_card(shown(events)).sentence == "“a.txt” is gone. Put it back."


def test_what_only_the_model_can_repair_is_not_said_to_the_person() -> None:
    why = Failed(Phrase("There is no argument 'foo'."), is_for_model=True)
    events = [agent.TagStart("1", "wait"), agent.ToolFinished("1", "wait", False, "tool_error", facts=(why,))]
    assert the_card(shown(events)).sentence == ""


def asked(*options: object) -> list[agent.AgentEvent]:
    """A question in a turn of its own, as the agent tells it."""
    payload = {"question": "Which?", "options": list(options), "text": "Which?"}
    return [
        agent.TurnStarted("t1", "go"),
        agent.TagStart("1", "ask_followup_question", {}, voiced=True),
        agent.SayDelta("1", "", "Which?"),
        agent.ToolFinished("1", "ask_followup_question", True, "ask_followup_question", payload),  # type: ignore[arg-type]
        agent.TurnEnded("t1", agent.Outcome.WAITING, "Which?"),
    ]


def test_a_questions_answers_stand_below_it_each_as_one_line_and_once() -> None:
    view = shown(asked("PDF", "plain\ntext", "PDF", "", 7))
    assert [type(item) for item in view.items] == [Asked, SpokenItem, Offer]
    assert view.items[-1] == Offer("i2", ("PDF", "plain text"))


def test_a_question_without_answers_is_only_said() -> None:
    assert [type(item) for item in shown(asked()).items] == [Asked, SpokenItem]


def test_a_question_that_failed_offers_nothing() -> None:
    failed = agent.ToolFinished("1", "ask_followup_question", False, "tool_error", {"options": ["PDF"]})
    assert shown([failed]).items == ()


def test_the_next_turn_takes_the_answers_away() -> None:
    view = shown([agent.TurnStarted("t2", "PDF")], shown(asked("PDF", "Text")))
    assert [type(item) for item in view.items] == [Asked, SpokenItem, Asked]


def test_whatever_the_person_says_takes_the_answers_away_at_once() -> None:
    view = presenter.sent(shown(asked("PDF", "Text")), "something else")
    assert [type(item) for item in view.items] == [Asked, SpokenItem, Asked]


def test_words_for_a_turn_that_runs_already_are_shown_at_once() -> None:
    view = presenter.sent(shown([agent.TurnStarted("t1", "go")]), "and be quick")
    assert view.items == (Asked("i0", "go"), Asked("i1", "and be quick", waits=True))


def test_words_that_wait_come_last_once_the_agent_has_taken_them() -> None:
    view = presenter.sent(shown([agent.TurnStarted("t1", "go")]), "and be quick")
    view = shown([agent.SayDelta("s", "", "On it."), agent.SaidMeanwhile("and be quick")], view)
    assert [getattr(item, "text", "") for item in view.items] == ["go", "On it.", "and be quick"]
    assert not any(item.waits for item in view.items if isinstance(item, Asked))


def steps(*done: bool) -> dict[str, JsonValue]:
    listed: list[JsonValue] = [{"text": f"step {number}", "done": is_done} for number, is_done in enumerate(done)]
    return {"items": listed, "done": sum(done), "total": len(done)}


def test_a_turn_has_one_checklist_that_is_brought_up_to_date_where_it_stands() -> None:
    view = shown(
        [
            agent.TurnStarted("t1", "go"),
            agent.TagStart("1", "say", {}, voiced=True),
            agent.ToolProgress("1", "task_progress", steps(False, False)),
            agent.Notice("info", "later"),
            agent.ToolProgress("2", "task_progress", steps(True, False)),
        ]
    )
    assert view.items[1:] == (
        ShownChecklist("l1", (ChecklistLine("step 0", True), ChecklistLine("step 1", False))),
        NoticeItem("i2", "info", "later"),
    )


def test_a_checklist_that_was_read_is_shown_without_a_card_of_its_own() -> None:
    view = shown(
        [
            agent.TagStart("1", "focus_chain"),
            agent.ToolFinished("1", "focus_chain", True, "task_progress", steps(True)),
            agent.TagStart("2", "focus_chain"),
            agent.ToolFinished("2", "focus_chain", True, "task_progress", steps()),
        ]
    )
    assert view.items == (ShownChecklist("l0", (ChecklistLine("step 0", True),)),)


def test_the_next_turn_has_a_checklist_of_its_own() -> None:
    turn = [agent.TurnStarted("t", ""), agent.ToolProgress("1", "task_progress", steps(False))]
    assert [item.key for item in shown([*turn, *turn]).items] == ["l0", "l1"]


def test_the_checklist_leaves_the_card_that_carried_it_alone() -> None:
    begun = shown([agent.TagStart("1", "wait_until"), agent.ToolProgress("1", "waiting", {"left_s": 9})])
    told = shown([agent.ToolProgress("1", "task_progress", steps(False))], begun)
    assert the_card(told) == the_card(begun)


def changing(tool: str, path: JsonValue, *, ok: bool = True, undoable: bool = True) -> agent.ToolFinished:
    return agent.ToolFinished("1", tool, ok, tool, {"path": path}, facts=(Undoable(),) if undoable else ())


def offers_to_take_back(view: View) -> list[TakeBack]:
    return [item for item in view.items if isinstance(item, TakeBack)]


@pytest.mark.parametrize("outcome", agent.Outcome)
def test_a_turn_that_changed_files_ends_with_their_number_and_the_offer_to_take_them_back(
    outcome: agent.Outcome,
) -> None:
    changes = [
        changing("write_file", "a.txt"),
        changing("replace_in_file", "a.txt"),
        changing("delete_file", "b.txt"),
    ]
    begun = shown([agent.TurnStarted("t1", "go"), *changes])
    assert begun.items == (Asked("i0", "go"),)
    ended = shown([agent.TurnEnded("t1", outcome, "So it is.")], begun)
    assert ended.items[1:] == (TurnOutcome("i1", outcome, "So it is."), TakeBack("i2", "t1", 2))


@pytest.mark.parametrize(
    "finished",
    [
        changing("write_file", "a.txt", ok=False),
        changing("write_file", "a.txt", undoable=False),
        changing("write_file", 7),
    ],
)
def test_what_changed_nothing_or_cannot_be_undone_is_not_offered(finished: agent.ToolFinished) -> None:
    view = shown([agent.TurnStarted("t1", "go"), finished, agent.TurnEnded("t1", agent.Outcome.FINISHED, "")])
    assert view.items == (Asked("i0", "go"),)


def test_each_turn_offers_only_its_own_changes_and_is_taken_back_alone() -> None:
    view = shown(
        [
            agent.TurnStarted("t1", ""),
            changing("write_file", "a.txt"),
            agent.TurnEnded("t1", agent.Outcome.FINISHED, ""),
            agent.TurnStarted("t2", ""),
            changing("write_file", "b.txt"),
            agent.TurnEnded("t2", agent.Outcome.STOPPED, ""),
            agent.TurnStarted("t3", ""),
            agent.TurnEnded("t3", agent.Outcome.FINISHED, ""),
        ]
    )
    assert offers_to_take_back(view) == [TakeBack("i0", "t1", 1), TakeBack("i1", "t2", 1)]
    assert offers.accepted(view, "t1").items == (TakeBack("i1", "t2", 1),)


@pytest.mark.parametrize(
    ("undone", "left"),
    [
        (TakenBack(1, "t1"), {"t1": 1, "t2": 1}),
        (TakenBack(2, "t1/c4"), {"t2": 1}),
        (TakenBack(1, "t2"), {"t1": 2}),
        (TakenBack(1), {"t1": 2}),
        (TakenBack(1, "of another conversation"), {"t1": 2, "t2": 1}),
    ],
)
def test_what_was_taken_back_by_words_is_no_longer_offered(undone: TakenBack, left: dict[str, int]) -> None:
    changes = {"t1": ["a.txt", "b.txt"], "t2": ["c.txt"]}
    done = [
        [
            agent.TurnStarted(turn, ""),
            *(changing("write_file", path) for path in paths),
            agent.TurnEnded(turn, agent.Outcome.FINISHED, ""),
        ]
        for turn, paths in changes.items()
    ]
    undoing = agent.ToolFinished("1", "undo_last_change", True, "undo_last_change", facts=(undone,))
    view = shown([event for events in done for event in events] + [undoing])
    assert {item.turn_id: item.count for item in offers_to_take_back(view)} == left


def _deleting(name: str) -> agent.ToolFinished:
    payload: dict[str, JsonValue] = {"deleted": ["/a", "/b"], "put_back": name}
    return agent.ToolFinished("1", "execute_command", True, "execute_command", payload, facts=(Undoable(),))


def test_what_a_command_deleted_is_kept_so_or_put_back_while_the_turn_goes_on() -> None:
    view = shown([agent.TurnStarted("t1", ""), changing("write_file", "c.txt"), _deleting("t1/r5")])
    asked = TakeBack("i0", "t1/r5", 2, frozenset({"/a", "/b"}))
    assert (offers_to_take_back(view), offers_to_take_back(shown([_deleting("")]))) == ([asked], [])
    ended = [agent.TurnEnded("t1", agent.Outcome.FINISHED, "")]
    kept, back = offers.declined(view, "t1/r5"), offers.accepted(view, "t1/r5")
    assert [item.count for item in offers_to_take_back(shown(ended, kept))] == [3]
    assert [item.count for item in offers_to_take_back(shown(ended, back))] == [1]


def completed(command: str) -> View:
    finished = agent.ToolFinished("1", "attempt_completion", True, "answered", facts=(Proposed(command),))
    ended = agent.TurnEnded("t1", agent.Outcome.FINISHED, "Done.")
    return shown([agent.TurnStarted("t1", "go"), agent.SayDelta("1", "", "Done."), finished, ended])


def test_a_results_command_stands_below_it() -> None:
    view = completed(" python -m http.server\n")
    assert [type(item) for item in view.items] == [Asked, SpokenItem, Command]
    assert view.items[-1] == Command("i2", "python -m http.server")


@pytest.mark.parametrize("command", ["", "  ", "x" * 20_001])
def test_what_is_no_whole_command_is_not_shown(command: str) -> None:
    assert [type(item) for item in completed(command).items] == [Asked, SpokenItem]


def test_the_orb_shows_who_drives() -> None:
    assert shown([agent.StateChanged(agent.State.BUSY)]).orb is Orb.BUSY
    assert shown([agent.StateChanged(agent.State.DRIVING)]).orb is Orb.DRIVING


def test_unread_counts_only_while_nobody_looks() -> None:
    ended = [agent.TurnStarted("t1", ""), agent.TurnEnded("t1", agent.Outcome.FINISHED, "")]
    away = shown(ended, shown(ended))
    assert away.unread == 2
    looking = presenter.attended(away)
    assert (looking.unread, shown(ended, looking).unread) == (0, 0)
    assert shown(ended, presenter.unattended(looking)).unread == 1


def test_notices_and_usage_are_shown() -> None:
    view = shown([agent.Notice("warning", "Trying again."), agent.UsageChanged(100, 20, cost_usd=0.01)])
    assert view.items == (NoticeItem("i0", "warning", "Trying again."),)
    assert view.turn == Spent(100, 20, cost_usd=0.01, turns=1)


def test_it_falls_asleep_only_when_idle() -> None:
    assert presenter.asleep(View()).orb is Orb.SLEEP
    assert presenter.awake(presenter.asleep(View())).orb is Orb.IDLE
    busy = shown([agent.TurnStarted("t1", "go")])
    assert presenter.asleep(busy) is busy


def test_an_event_it_does_not_know_changes_nothing() -> None:
    view = shown([agent.Notice("info", "x")])
    assert Presenter().after(view, "not an event", 1.0) is view  # type: ignore[arg-type]


def test_a_very_long_thread_lets_its_beginning_go() -> None:
    view = shown(agent.Notice("info", str(number)) for number in range(cards.KEPT_ITEMS + 500))
    assert len(view.items) + view.dropped == cards.KEPT_ITEMS + 500
    assert len(view.items) <= cards.KEPT_ITEMS + 200
    assert view.items[-1] == NoticeItem(f"i{cards.KEPT_ITEMS + 499}", "info", str(cards.KEPT_ITEMS + 499))


_CALLS = st.sampled_from(["1", "2", "3"])
_TOOLS = st.sampled_from(
    ["say", "computer_click", "write_file", "unheard_of", "ask_followup_question", "focus_chain", "attempt_completion"]
)
_VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.lists(st.text()))
_PAYLOADS = st.dictionaries(
    st.sampled_from(
        [
            "x",
            "y",
            "text",
            "target",
            "reason",
            "output",
            "left_s",
            "fraction",
            "verified",
            "path",
            "options",
            "items",
        ]
    ),
    _VALUES,
)
_EVENTS = st.one_of(
    st.builds(agent.TurnStarted, st.just("t"), st.text()),
    st.builds(agent.StateChanged, st.sampled_from(agent.State)),
    st.builds(agent.SayDelta, _CALLS, st.text(max_size=5), st.text()),
    st.builds(agent.TagStart, _CALLS, _TOOLS, _PAYLOADS),
    st.builds(agent.TagDelta, _CALLS, st.sampled_from(["content", "text"]), st.text()),
    st.builds(agent.ToolRunning, _CALLS, _TOOLS, _PAYLOADS),
    st.builds(agent.ToolProgress, _CALLS, st.sampled_from(["output", "task_progress"]), _PAYLOADS),
    st.builds(agent.ToolFinished, _CALLS, _TOOLS, st.booleans(), st.text(), _PAYLOADS, st.text()),
    st.builds(agent.ApprovalWanted, _CALLS, _CALLS, _TOOLS, st.text(), st.text()),
    st.builds(agent.ApprovalAnswered, _CALLS, st.booleans()),
    st.builds(agent.TurnEnded, st.just("t"), st.sampled_from(agent.Outcome), st.text()),
)


@given(st.lists(_EVENTS, max_size=30))
def test_no_sequence_of_events_breaks_it(events: list[agent.AgentEvent]) -> None:
    view = shown(events)
    keys = [item.key for item in view.items]
    assert len(keys) == len(set(keys)) or any(key.startswith("a") for key in keys)


@pytest.mark.parametrize("chars", [1_500, 9_000])
@pytest.mark.parametrize("chunk", [7, 1_000_000])
def test_code_keeps_its_fence_however_long_it_is(chars: int, chunk: int) -> None:
    code = "".join(f"line {number} = `{number}`\n" for number in range(chars // 16))
    text = f"Here it is:\n\n~~~python\n{code}~~~\n\nThat was **all** of it.\n" + "And more words. " * 200
    view = shown(agent.SayDelta("s", "warm", text[at : at + chunk]) for at in range(0, len(text), chunk))
    said = [item for item in view.items if isinstance(item, SpokenItem)]
    assert "".join(item.text for item in said) == text
    parts = [part for item in said for part in pieces(f"{item.fence}\n{item.text}" if item.fence else item.text)]
    assert "".join(body for is_code, body in parts if is_code) == code
    assert "~~~" not in "".join(body for is_code, body in parts if not is_code)
    blocks = sum(is_code for is_code, _ in parts)
    assert blocks == 1 if chars < 40_000 else blocks <= 4
