"""What the runtime needs of a shard, whatever it coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from falkirk.coordinator.runtime.outcome import Action, CoordinatorRecord, KeyAndValue, Outcome, Producer
    from falkirk.timers import Timers

S = TypeVar("S", bound="CoordinatorShard")


class ShardContext(Protocol):
    """What a driver reads of a shard's context: its timers, and by name the next slices of work that takes many steps.

    `now_ms` is the time of the step.
    """

    now_ms: int

    @property
    def timers(self) -> Timers[str, Action]:
        """Timers; the driver runs those that are due."""
        ...

    @property
    def slices(self) -> dict[str, Action]:
        """Work under way; the driver runs one slice in a step."""
        ...


class CoordinatorShard(Protocol):
    """A shard: it decides on requests, which are operations on it, and changes only by replay."""

    @property
    def context(self) -> ShardContext:
        """What the driver gives to the shard, and gets from it."""
        ...

    def as_written(self, records: Sequence[CoordinatorRecord]) -> Sequence[CoordinatorRecord]:
        """Return records as they are written: the same object if nothing is added."""
        ...

    def replay(self, record: CoordinatorRecord, data: KeyAndValue, *, offset: int, producer: Producer | None) -> None:
        """Apply a record that is written at an offset."""
        ...

    def loaded(self) -> Generator[None, None, Outcome]:
        """Begin to coordinate after the last record, a slice in each step."""
        ...
