"""Requests that wait: what completes them, and that others do not pay for it."""

from __future__ import annotations

from falkirk.node.broker.replication.waits import OrderedWait, Wait, Waits
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.topic_partition import TopicPartition

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


class Watching(Wait):
    """Complete when `is_ready`."""

    __slots__ = ("answers", "is_ready", "tries")

    def __init__(self, deadline_ms: int = 1_000) -> None:
        super().__init__(deadline_ms)
        self.answers: list[str] = []
        self.is_ready = False
        self.tries = 0

    def try_complete(self) -> bool:
        self.tries += 1
        if self.is_ready:
            self.answers.append("complete")
            self.is_done = True
        return self.is_done

    def expire(self) -> None:
        self.answers.append("expired")
        self.is_done = True


class Produced(OrderedWait):
    """Complete when all its partitions are settled."""

    __slots__ = ("outcomes", "pending")

    def __init__(self, *pending: TopicPartition, deadline_ms: int = 1_000) -> None:
        super().__init__(deadline_ms)
        self.pending = set(pending)
        self.outcomes: dict[TopicPartition, ErrorCode] = {}

    def settle(self, partition: TopicPartition, outcome: ErrorCode) -> bool:
        self.pending.remove(partition)
        self.outcomes[partition] = outcome
        self.is_done = not self.pending
        return self.is_done

    def try_complete(self) -> bool:
        return self.is_done

    def expire(self) -> None:
        self.is_done = True


class Watermarks(dict):
    """High watermarks by partition; every question is counted."""

    questions = 0

    def outcome(self, partition: TopicPartition, offset: int) -> ErrorCode | None:
        self.questions += 1
        return ErrorCode.NONE if self.get(partition, 0) >= offset else None


def test_only_what_happens_at_its_partitions_is_looked_at():
    waits = Waits(Watermarks().outcome)
    wait = Watching()
    waits.watch(wait, [A])

    waits.touch(B)
    waits.complete()
    assert wait.tries == 0

    waits.touch(A)
    waits.touch(A)
    assert waits.has_touched
    waits.complete()
    assert wait.tries == 1
    assert not waits.has_touched


def test_a_request_that_watches_many_partitions_is_looked_at_and_answered_once():
    waits = Waits(Watermarks().outcome)
    wait = Watching()
    waits.watch(wait, [A, B, A])
    wait.is_ready = True

    waits.touch(A)
    waits.touch(B)
    waits.complete()
    waits.touch(A)
    waits.complete()
    waits.expire(5_000)

    assert wait.answers == ["complete"]


def test_time_ends_a_wait():
    waits = Waits(Watermarks().outcome)
    late, early = Watching(2_000), Watching(1_000)
    for wait in (late, early):
        waits.watch(wait, [A])
    assert waits.next_deadline_ms == 1_000

    waits.expire(1_500)

    assert (early.answers, late.answers) == (["expired"], [])
    assert waits.next_deadline_ms == 2_000


def test_records_are_acknowledged_in_order_and_those_behind_cost_nothing():
    marks = Watermarks()
    waits = Waits(marks.outcome)
    produced = [Produced(A) for _ in range(1_000)]
    for offset, wait in enumerate(produced, 1):
        waits.watch_offsets(wait, [(A, offset)])

    marks[A] = 3
    waits.touch(A)
    waits.complete()

    assert [wait.is_done for wait in produced[:5]] == [True, True, True, False, False]
    assert marks.questions == 4


def test_records_of_two_partitions_are_acknowledged_when_both_are():
    marks = Watermarks()
    waits = Waits(marks.outcome)
    wait = Produced(A, B)
    waits.watch_offsets(wait, [(A, 1), (B, 1)])

    marks[A] = 1
    waits.touch(A)
    waits.complete()
    assert not wait.is_done

    marks[B] = 1
    waits.touch(B)
    waits.complete()
    assert wait.is_done


def test_one_that_is_over_does_not_hold_up_those_behind_it():
    marks = Watermarks()
    waits = Waits(marks.outcome)
    over, wait = Produced(A, deadline_ms=10), Produced(A)
    waits.watch_offsets(over, [(A, 1)])
    waits.watch_offsets(wait, [(A, 2)])
    waits.expire(10)

    marks[A] = 2
    waits.touch(A)
    waits.complete()

    assert wait.is_done
    assert over.outcomes == {}


def test_deadlines_of_requests_that_are_over_do_not_pile_up():
    waits = Waits(Watermarks().outcome)
    for number in range(10_000):
        wait = Watching(30_000)
        wait.is_ready = True
        waits.watch(wait, [A])
        waits.touch(A)
        waits.complete()
        assert len(waits._deadlines._heap) <= 2_100, number
