"""Members of a group that goes up with a feature: kafka-python's consumers with the assignor of the guide."""

import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kafka import KafkaConsumer

from falkirk.client.blocking_admin import Admin
from falkirk.coordinator.membership.feature_level import FeatureLevel, LevelUnsupportedError
from falkirk.versions.supported_range import SupportedRange

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "group-features.md"
_PATIENCE_S = 60
_POLL_MS = 100
_LONG_ENOUGH_POLLS = 4


def guide() -> dict[str, Any]:  # Any: names of a program
    """Return what the guide's first example defines."""
    made: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)[0], made)  # noqa: S102 - our own words
    return made


class Member:
    """A consumer that can run a feature up to level `highest`, and polls in a thread of its own.

    `runs`: its level by generation. `failure`: the error that ended it. A response that arrives between two polls makes
    kafka-python rejoin, so members do not take turns in one thread.
    """

    def __init__(self, servers: str, topic: str, feature: str, *, highest: int) -> None:
        example = guide()
        runs: dict[int, int] = {}

        class Watched(example["LevelAssignor"]):  # type: ignore[misc]  # of a class that exec made
            def on_assignment(self, assignment: object, generation: int) -> None:
                super().on_assignment(assignment, generation)
                runs[generation] = self.level.level

        self.runs = runs
        self.polls = 0
        self.failure: LevelUnsupportedError | None = None
        self._ask = example["ask"]
        self._assignor = Watched(FeatureLevel(feature, SupportedRange(0, highest)))
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=servers.split(","),
            group_id="billing",
            partition_assignment_strategy=[self._assignor],
            enable_auto_commit=False,
            heartbeat_interval_ms=200,
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    @property
    def is_leader(self) -> bool:
        """True if it assigns."""
        return bool(self._assignor.is_leader)

    @property
    def generation(self) -> int:
        """The newest generation that it has run in."""
        return max(self.runs, default=0)

    @property
    def partition_count(self) -> int:
        """The number of its partitions."""
        return len(self._consumer.assignment())

    def ask(self, admin: Admin) -> None:
        """Make the guide's periodic check."""
        self._ask(admin, self._assignor, self._consumer)

    def close(self) -> None:
        """Leave the group."""
        self._is_over.set()
        self._thread.join()
        self._consumer.close()

    def _poll(self) -> None:
        try:
            while not self._is_over.is_set():
                self._consumer.poll(timeout_ms=_POLL_MS)
                self.polls += 1
        except LevelUnsupportedError as failure:
            self.failure = failure


class LevelGroup:
    """Members of one group; `everybody` includes those that left."""

    def __init__(self, servers: str, topic: str, feature: str, *, partitions: int) -> None:
        self._where = (servers, topic, feature)
        self._partitions = partitions
        self.members: list[Member] = []
        self.everybody: list[Member] = []

    @property
    def leader(self) -> Member:
        """The member that assigns."""
        [leader] = [each for each in self.members if each.is_leader]
        return leader

    @property
    def generation(self) -> int:
        """The newest generation that any member has run in."""
        return max(each.generation for each in self.everybody)

    @property
    def levels(self) -> list[int]:
        """The level at which each member runs."""
        return [each.runs[each.generation] for each in self.members]

    def join(self, *, highest: int = 1) -> Member:
        """Start a member; `settle` waits for it."""
        member = Member(*self._where, highest=highest)
        self.members.append(member)
        self.everybody.append(member)
        return member

    def leave(self, member: Member) -> None:
        """Let a member leave."""
        self.members.remove(member)
        member.close()

    def ask(self, admin: Admin) -> None:
        """Let all members make their periodic check, on which only the leader acts."""
        for member in self.members:
            member.ask(admin)

    def settle(self, *, after: int) -> None:
        """Wait until all run in one generation newer than `after` and have all partitions among them."""
        self.wait_until(lambda: self.generation > after and self._is_settled)

    def go_on(self) -> None:
        """Let all poll a few times."""
        wanted = {member: member.polls + _LONG_ENOUGH_POLLS for member in self.members}
        self.wait_until(lambda: all(member.polls >= polls for member, polls in wanted.items()))

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition. Raises AssertionError."""
        deadline = time.monotonic() + _PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, [each.runs for each in self.members]
            time.sleep(0.01)

    def close(self) -> None:
        """Let all members leave."""
        for member in self.members:
            member.close()

    @property
    def _is_settled(self) -> bool:
        joined = all(each.generation == self.generation for each in self.members)
        return joined and sum(each.partition_count for each in self.members) == self._partitions


@contextmanager
def level_group(servers: str, topic: str, feature: str, *, partitions: int) -> Iterator[LevelGroup]:
    """Members that leave at the end of the block."""
    made = LevelGroup(servers, topic, feature, partitions=partitions)
    try:
        yield made
    finally:
        made.close()
