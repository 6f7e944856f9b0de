"""Leaders that time moves: back to the first replica, and to anyone alive where the topic allows unclean elections."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.partitions.broker_sweeps import PARTITIONS_PER_SLICE
from falkirk.metadata.controller.partitions.partition_change import Election
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.partition import NO_LEADER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.partition_set import PartitionKey, PartitionSet
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.records.batch import VersionedRecord

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
        """Return the elections of this moment, in slices, each decided on what those before have changed."""
        if self._unclean_due_ms <= now_ms:
            self._unclean_due_ms = now_ms + self._unclean_interval_ms
            yield from self._slices(self._state.partitions.without_leader(), Election.UNCLEAN)
        if self._preferred_interval_ms is not None and self._preferred_due_ms <= now_ms:
            self._preferred_due_ms = now_ms + self._preferred_interval_ms
            yield from self._slices(self._state.partitions.imbalanced(), Election.PREFERRED)

    def _slices(self, keys: PartitionSet, election: Election) -> Iterator[ControllerResult[None]]:
        left = iter(keys)
        while some := list(islice(left, PARTITIONS_PER_SLICE)):
            decision = ReplicationDecision(self._state, self._configs)
            changes = (self._change(decision, key, election) for key in some)
            yield ControllerResult(tuple(record for record in changes if record is not None), None, is_atomic=False)

    @staticmethod
    def _change(decision: ReplicationDecision, key: PartitionKey, election: Election) -> VersionedRecord | None:
        found = decision.partition(key)
        if found is None:
            return None
        topic, partition = found
        if election is Election.UNCLEAN and not (
            partition.leader == NO_LEADER and decision.is_unclean_election_enabled(topic)
        ):
            return None
        return decision.change(topic, key.partition_id, partition, election=election)
