"""What `falkirk lift status` and `run` print of a lift."""

import asyncio

import msgspec
import pytest
from lift_fakes import HIGH, LOW, FakeQuorum, originals

from falkirk.cli.lift.status_view import StatusView, entry_text
from falkirk.client.quorum_description import QuorumDescription
from falkirk.lift.journal import Entry
from falkirk.lift.lift import LiftStatus
from falkirk.lift.roll import NodeOnRelease


def status(*entries: Entry, level: str = "3.9-IV0", quorum: QuorumDescription | None = None) -> LiftStatus:
    return LiftStatus(
        originals=originals(),
        entries=(Entry(at_ms=0, event="originals", fields=msgspec.to_builtins(originals())), *entries),
        level=level,
        quorum=quorum,
        nodes=(
            NodeOnRelease(node_id=11, highest_level=LOW, is_on_target=True),
            NodeOnRelease(node_id=1, highest_level=HIGH, is_on_target=False),
            NodeOnRelease(node_id=2, highest_level=None, is_on_target=False),
        ),
    )


def test_it_has_the_binaries_of_each_node():
    lines = list(StatusView(status()).text())
    assert lines[0] == "Cluster c: the lift to 3.9-IV0 is under way."
    assert lines[3] == "quorum: no controller answers as its leader"
    assert lines[5:8] == [
        "node 11: older binaries, up to metadata.version 3.9-IV0",
        "node 1: newer binaries, up to metadata.version 4.3-IV0",
        "node 2: does not answer",
    ]
    assert lines[8] == "00:00:00.000 originals: cluster c, voters 1, 2, 3, to 3.9-IV0"
    assert StatusView(status()).document()["nodes"][2] == {"node_id": 2, "highest_level": None, "on_target": False}


QUORUM = asyncio.run(FakeQuorum().describe())


@pytest.mark.parametrize(
    ("entries", "level", "quorum", "first", "second"),
    [
        (
            [],
            "4.3-IV0",
            QUORUM,
            "is under way.",
            "`falkirk lift run` goes on; `falkirk lift abort` gives the quorum",
        ),
        ([], "3.9-IV0", QUORUM, "is under way.", "The level is low: `falkirk lift run` goes on."),
        (
            [],
            "4.3-IV0",
            None,
            "is under way.",
            "No controller leads: brokers serve data, but nothing can be created",
        ),
        (["aborted"], "4.3-IV0", QUORUM, "was given up.", "metadata.version: 4.3-IV0"),
        (["finished"], "3.9-IV0", QUORUM, "has ended.", "metadata.version: 3.9-IV0"),
    ],
)
def test_what_goes_on_with_the_lift_comes_first(entries, level, quorum, first, second):
    found = status(*(Entry(at_ms=1, event=event) for event in entries), level=level, quorum=quorum)
    lines = list(StatusView(found).text())
    assert lines[0].endswith(first)
    assert lines[1].startswith(second)


def test_what_a_person_has_to_do_is_a_line():
    by_hand = Entry(at_ms=1000, event="by-hand", fields={"hook": "stop", "node_id": 2, "text": "stop controller 2"})
    assert entry_text(by_hand) == "00:00:01.000 by-hand: stop controller 2"
    to_roll = Entry(at_ms=1000, event="to-roll", fields={"nodes": [11, 1], "release": "3.9"})
    assert entry_text(to_roll) == (
        "00:00:01.000 to-roll: restart with Kafka 3.9, one by one when all partitions are in sync, each after `falkirk "
        "lift prepare`: 11, 1; `falkirk lift status` shows which are done"
    )


def test_a_hook_and_its_failure_are_lines():
    assert entry_text(Entry(at_ms=0, event="hook-begun", fields={"hook": "roll", "node_id": 11})).endswith(
        "hook-begun: roll of node 11"
    )
    failed = Entry(
        at_ms=0, event="failed", step="roll-11", fields={"reason": "hook roll of node 11 ended with status 5"}
    )
    assert entry_text(failed).endswith("roll-11 failed: hook roll of node 11 ended with status 5")
    assert entry_text(Entry(at_ms=0, event="finished")).endswith("finished")
