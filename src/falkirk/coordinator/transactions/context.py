"""The state and settings that all parts of a transaction shard share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from falkirk.timers import Timers
from falkirk.versions.features import TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.coordinator.runtime.outcome import Action
    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """The broker's configs of its transaction coordinator, times in ms. Names are Kafka's keys, shortened."""

    transactional_id_expiration_ms: int = 7 * 24 * 3_600_000
    transaction_max_timeout_ms: int = 900_000
    abort_timed_out_transaction_cleanup_interval_ms: int = 10_000
    remove_expired_transaction_cleanup_interval_ms: int = 3_600_000
    two_phase_commit_enable: bool = False


@dataclass(slots=True, kw_only=True)
class TransactionContext:
    """One for each shard. The driver sets `now_ms`, and changed levels and settings, before each step.

    `coordinator_epoch`: the leader epoch of the shard's partition. `take_producer_id` returns an unused id, None while
    the broker has none. `feature_levels`: the finalized ones. `is_tolerant`: load what the release does not know as
    KIP-915 has it for groups. `slices`: by name the next slice of work that is too long for one step; the driver runs
    one of them in a step.
    """

    release: "Release"
    coordinator_epoch: int
    take_producer_id: "Callable[[], int | None]"
    now_ms: int
    settings: TransactionSettings = field(default_factory=TransactionSettings)
    feature_levels: "Mapping[str, int]" = field(default_factory=dict)
    is_tolerant: bool = False
    timers: "Timers[str, Action]" = field(default_factory=Timers)
    slices: "dict[str, Action]" = field(default_factory=dict)

    @property
    def transaction_version(self) -> int:
        """The finalized level of transaction.version."""
        return self.feature_levels.get(TRANSACTION_VERSION, 0)
