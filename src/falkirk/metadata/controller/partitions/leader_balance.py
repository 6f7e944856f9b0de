"""Leaders that time moves: back to the first replica, and to anyone alive where the topic allows unclean elections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.partitions.partition_change import Election
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.result import ControllerResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings

ELECTIONS_MAX: Final = 1_000
"""As many go into one batch; the rest follows at once."""

_UNCLEAN_INTERVAL: Final = "unclean.leader.election.interval.ms"
_UNCLEAN_INTERVAL_MS: Final = 300_000


class LeaderBalance:
    """Schedules the leader rebalance and decides it. Only partitions not led by their preferred replica cost time."""

    def __init__(
        self, state: ControllerState, settings: ControllerSettings, configs: ConfigurationControl, now_ms: int
    ) -> None:
        self._state = state
        self._configs = configs
        self._preferred_interval_ms = settings.leader_imbalance_check_interval_ms
        self._unclean_interval_ms = int(settings.static_configs.get(_UNCLEAN_INTERVAL, _UNCLEAN_INTERVAL_MS))
        self._preferred_due_ms = now_ms + (self._preferred_interval_ms or 0)
        self._unclean_due_ms = now_ms + self._unclean_interval_ms

    @property
    def next_due_ms(self) -> int | None:
        """When `due` has something to look at; None while no partition wants another leader."""
        index = self._state.partitions
        times = []
        if self._preferred_interval_ms is not None and index.are_some_imbalanced:
            times.append(self._preferred_due_ms)
        if index.are_some_without_leader:
            times.append(self._unclean_due_ms)
        return min(times, default=None)

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Return the elections of this moment, batch by batch, each decided on what the one before has changed."""
        if self._unclean_due_ms <= now_ms:
            self._unclean_due_ms = now_ms + self._unclean_interval_ms
            yield from self._batches(self._elect_unclean)
        if self._preferred_interval_ms is not None and self._preferred_due_ms <= now_ms:
            self._preferred_due_ms = now_ms + self._preferred_interval_ms
            yield from self._batches(self._elect_preferred)

    @staticmethod
    def _batches(elect: Callable[[], ControllerResult[None]]) -> Iterator[ControllerResult[None]]:
        while (result := elect()).records:
            yield result
            if len(result.records) < ELECTIONS_MAX:
                return

    def _elect_preferred(self) -> ControllerResult[None]:
        decision = ReplicationDecision(self._state, self._configs)
        records = []
        for key in self._state.partitions.imbalanced():
            topic, partition = decision.partition(key)
            record = decision.change(topic, key.partition_id, partition, election=Election.PREFERRED)
            if record is not None:
                records.append(record)
                if len(records) == ELECTIONS_MAX:
                    break
        return ControllerResult(tuple(records), None, is_atomic=False)

    def _elect_unclean(self) -> ControllerResult[None]:
        decision = ReplicationDecision(self._state, self._configs)
        records = []
        for key in self._state.partitions.without_leader():
            topic, partition = decision.partition(key)
            if not decision.is_unclean_election_enabled(topic):
                continue
            record = decision.change(topic, key.partition_id, partition, election=Election.UNCLEAN)
            if record is not None:
                records.append(record)
                if len(records) == ELECTIONS_MAX:
                    break
        return ControllerResult(tuple(records), None, is_atomic=False)
