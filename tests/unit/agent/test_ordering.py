"""Which calls of a batch may run side by side."""

from __future__ import annotations

import asyncio

import pytest

from app.agent.calls import AT_ONCE, Reach, keep_order, reach_of, side_by_side
from app.assembly import registry
from app.protocol.call import Block, Child
from app.protocol.spec import Effect, Param, ToolSpec, unbound


def _must_wait(first: tuple[Effect, str], second: tuple[Effect, str], toolset: str = "") -> bool:
    reaches = [
        reach_of(Block("c", "t", args={"path": path} if path else {}), ToolSpec("t", "T.", effect, unbound), toolset)
        for effect, path in (first, second)
    ]
    return keep_order(*reaches)


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ((Effect.DESKTOP, ""), (Effect.DESKTOP, ""), True),
        ((Effect.DESKTOP, ""), (Effect.READS, "a"), True),
        ((Effect.EXECUTES, ""), (Effect.READS, ""), True),
        ((Effect.DESKTOP, ""), (Effect.TALKS, ""), False),
        ((Effect.WRITES, "a"), (Effect.WRITES, "b"), False),
        ((Effect.EXECUTES, ""), (Effect.WRITES, "a"), True),
        ((Effect.READS, "a"), (Effect.DESKTOP, ""), False),
    ],
)
def test_calls_wait_for_each_other_only_where_it_matters(
    first: tuple[Effect, str], second: tuple[Effect, str], waits: bool
) -> None:
    assert _must_wait(first, second) is waits


def test_everything_keeps_its_order_around_a_wait() -> None:
    waits = reach_of(Block("c", "wait"), ToolSpec("wait", "W.", Effect.READS, unbound, is_wait=True))
    for effect in Effect:
        other = reach_of(Block("c", "t"), ToolSpec("t", "T.", effect, unbound))
        assert keep_order(waits, other)
        assert keep_order(other, waits)


def test_the_tools_that_wait_say_so() -> None:
    assert {spec.name for spec in registry() if spec.is_wait} == {"wait", "wait_for", "wait_until"}


def test_a_path_counts_under_any_name_of_its_argument() -> None:
    param = Param("path", aliases=("file",))
    write, read = (ToolSpec("t", "T.", effect, unbound, attrs=(param,)) for effect in (Effect.WRITES, Effect.READS))
    assert keep_order(
        reach_of(Block("c", "t", args={"file": "a"}), write), reach_of(Block("c", "t", {"path": "a"}), read)
    )


def test_calls_of_one_vendors_toolset_keep_their_order() -> None:
    assert _must_wait((Effect.NETWORK, ""), (Effect.NETWORK, ""), "computer")


def test_every_spelling_of_a_path_counts() -> None:
    spec = ToolSpec("t", "T.", Effect.WRITES, unbound)
    spellings = [
        Block("c", "t", {"path": "a"}),
        Block("c", "t", children=(Child("path", "a"), Child("path", "b"))),
        Block("c", "t", args={"path": ["b", "a"]}),
    ]
    reaches = [reach_of(block, spec) for block in spellings]
    assert all(keep_order(one, other) for one in reaches for other in reaches)


def test_a_tool_that_does_not_exist_waits_for_nobody() -> None:
    desktop = reach_of(Block("c", "t"), ToolSpec("t", "T.", Effect.DESKTOP, unbound))
    assert not keep_order(desktop, reach_of(Block("c", "fly"), None))


async def test_calls_run_side_by_side_up_to_a_cap_and_in_order_where_they_must() -> None:
    running, most, begun = 0, 0, list[int]()
    alone = [Reach(frozenset({Effect.NETWORK}), frozenset()) for _ in range(AT_ONCE + 3)]
    shared = [Reach(frozenset({Effect.DESKTOP}), frozenset({"desktop"})) for _ in range(3)]

    async def run(index: int) -> None:
        nonlocal running, most
        begun.append(index)
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    await side_by_side([*shared, *alone], run)
    assert most == AT_ONCE
    assert sorted(begun) == list(range(len(shared) + len(alone)))
    assert [index for index in begun if index < len(shared)] == [0, 1, 2]
