"""Partition changes after a broker joins, leaves, or loses a directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.partition_reassignment import without
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.partition_set import PartitionKey
    from falkirk.metadata.records.batch import VersionedRecord


def broker_left(state: ControllerState, configs: ConfigurationControl, broker_id: int) -> list[VersionedRecord]:
    """Remove a broker from ISRs and leaderships; without ELR the last replica of an ISR stays in it."""
    return _without_broker(state, configs, broker_id, state.partitions.in_sync(broker_id))


def broker_unregistered(state: ControllerState, configs: ConfigurationControl, broker_id: int) -> list[VersionedRecord]:
    """As `broker_left`; partitions that count on it as eligible get a new leader if they can.

    As in Kafka it stays eligible: only an unclean shutdown says that it lost what it had.
    """
    keys = [*state.partitions.in_sync(broker_id), *state.partitions.eligible(broker_id)]
    return _without_broker(state, configs, broker_id, keys)


def broker_joined(state: ControllerState, configs: ConfigurationControl, broker_id: int) -> list[VersionedRecord]:
    """Elect leaders for partitions without one that this broker can lead."""
    decision = ReplicationDecision(state, configs, joining=broker_id)
    return _changes(decision, state.partitions.without_leader())


def broker_had_unclean_shutdown(
    state: ControllerState, configs: ConfigurationControl, broker_id: int
) -> list[VersionedRecord]:
    """Remove a broker from ISRs and, with ELR, from ELRs: it may lack committed records (KIP-966)."""
    if not state.image.features.is_elr_enabled:
        return broker_left(state, configs, broker_id)
    decision = ReplicationDecision(state, configs, leaving=broker_id)
    keys = [*state.partitions.in_sync(broker_id), *state.partitions.eligible(broker_id)]
    return _changes(decision, keys, leaving=broker_id, unclean_shutdown=(broker_id,))


def directories_offline(
    state: ControllerState, configs: ConfigurationControl, broker_id: int, directories: AbstractSet[bytes]
) -> list[VersionedRecord]:
    """Remove the replicas in a broker's failed directories from ISRs and leaderships (KIP-858)."""
    decision = ReplicationDecision(state, configs, leaving=broker_id)
    keys = []
    for key in state.partitions.in_sync(broker_id):
        _, partition = decision.partition(key)
        if decision.directory(partition, broker_id) in directories:
            keys.append(key)
    return _changes(decision, keys, leaving=broker_id)


def _without_broker(
    state: ControllerState, configs: ConfigurationControl, broker_id: int, keys: Iterable[PartitionKey]
) -> list[VersionedRecord]:
    return _changes(ReplicationDecision(state, configs, leaving=broker_id), keys, leaving=broker_id)


def _changes(
    decision: ReplicationDecision,
    keys: Iterable[PartitionKey],
    *,
    leaving: int | None = None,
    unclean_shutdown: tuple[int, ...] = (),
) -> list[VersionedRecord]:
    records = []
    for key in keys:
        topic, partition = decision.partition(key)
        isr = None if leaving is None else without(partition.isr, (leaving,))
        record = decision.change(topic, key.partition_id, partition, isr=isr, unclean_shutdown=unclean_shutdown)
        if record is not None:
            records.append(record)
    return records
