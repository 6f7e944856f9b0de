"""What partitions become when a broker joins, leaves, or loses a directory: slice by slice, however many it has.

The first slice is decided with the record that changes the broker, the others follow as decisions of their own, each on
the state of its moment. A broker counts as fenced, unfenced or unregistered from the first slice on. Kafka appends all
of it at once, in several batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.partitions.partition_change import Election
from falkirk.metadata.controller.partitions.partition_reassignment import without
from falkirk.metadata.controller.partitions.replication_decision import ReplicationDecision
from falkirk.metadata.controller.state.result import ControllerResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.metadata.controller.configs.configuration_control import ConfigurationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.partition_set import PartitionKey
    from falkirk.metadata.records.batch import VersionedRecord

PARTITIONS_PER_SLICE: Final = 250
"""Deciding, encoding and replaying the changes of so many takes about ten milliseconds."""
_ANY_BROKER: Final = -2


class Cause(Enum):
    """Why the partitions of a broker change."""

    LEFT = "left"  # fenced, in controlled shutdown, or unregistered
    JOINED = "joined"
    UNCLEAN_SHUTDOWN = "unclean shutdown"
    DIRECTORIES_OFFLINE = "directories offline"
    ACTIVATION = "activation"  # of the controller: any broker may have joined before

    @property
    def comes_first(self) -> bool:
        """True if the record of the broker's change must follow the changes of its partitions."""
        return self in {Cause.UNCLEAN_SHUTDOWN, Cause.DIRECTORIES_OFFLINE}


@dataclass(slots=True, kw_only=True)
class Sweep:
    """One pass over the partitions that a broker's change may concern. `keys`: those that are still to be judged.

    `directories`: those that went offline. `is_resumed`: an earlier controller may have begun it. In the first slice
    the image does not say yet that the broker has joined or left; those that follow go by the image.
    """

    cause: Cause
    broker_id: int
    keys: "Iterator[PartitionKey]"
    directories: frozenset[bytes] = frozenset()
    is_first: bool = field(default=True, init=False)
    is_resumed: bool = False

    @property
    def key(self) -> tuple[int, Cause, frozenset[bytes]]:
        """What tells it from others."""
        return self.broker_id, self.cause, self.directories


class BrokerSweeps:
    """All sweeps under way, the oldest first."""

    def __init__(self, state: ControllerState, configs: ConfigurationControl) -> None:
        self._state = state
        self._configs = configs
        self._sweeps: list[Sweep] = []
        # Sweeps that must have ended before their broker's change is recorded, and have.
        self._ended: set[tuple[int, Cause, frozenset[bytes]]] = set()
        self._resume()

    def left(self, broker_id: int) -> list[VersionedRecord]:
        """Remove a broker from ISRs and leaderships; without ELR the last replica of an ISR stays in it."""
        return self._begin(Sweep(cause=Cause.LEFT, broker_id=broker_id, keys=self._in_sync(broker_id)))

    def unregistered(self, broker_id: int) -> list[VersionedRecord]:
        """As `left`; partitions that count on the broker as eligible get a new leader if they can.

        As in Kafka it stays eligible: only an unclean shutdown says that it lost what it had.
        """
        keys = self._in_sync_or_eligible(broker_id)
        return self._begin(Sweep(cause=Cause.LEFT, broker_id=broker_id, keys=keys))

    def joined(self, broker_id: int) -> list[VersionedRecord]:
        """Elect leaders for partitions without one that this broker can lead."""
        keys = iter(self._state.partitions.without_leader())
        return self._begin(Sweep(cause=Cause.JOINED, broker_id=broker_id, keys=keys))

    def had_unclean_shutdown(self, broker_id: int) -> list[VersionedRecord] | None:
        """Remove a broker from ISRs and, with ELR, from ELRs: it may lack committed records (KIP-966).

        None: there are too many for one slice. The others must be gone before the broker may register: only its former
        registration says that it was unclean. The caller is to come back while `is_under_way`, and after it.
        """
        if not self._state.image.features.is_elr_enabled:
            return self.left(broker_id)
        keys = self._in_sync_or_eligible(broker_id)
        return self._before(Sweep(cause=Cause.UNCLEAN_SHUTDOWN, broker_id=broker_id, keys=keys))

    def directories_offline(self, broker_id: int, directories: frozenset[bytes]) -> list[VersionedRecord] | None:
        """Remove the replicas in a broker's failed directories from ISRs and leaderships (KIP-858).

        None as in `had_unclean_shutdown`: the registration may lose the directories only after it. A broker that is not
        active has left its partitions, or does; where it is the last one it stays.
        """
        if not self._is_active(broker_id):
            return []
        keys = self._in_sync(broker_id)
        sweep = Sweep(cause=Cause.DIRECTORIES_OFFLINE, broker_id=broker_id, keys=keys, directories=directories)
        return self._before(sweep)

    def is_under_way(self, broker_id: int) -> bool:
        """Return whether a sweep of a broker goes on."""
        return any(sweep.broker_id == broker_id for sweep in self._sweeps)

    @property
    def is_due(self) -> bool:
        """True while a sweep goes on."""
        return bool(self._sweeps)

    def due(self) -> Iterator[ControllerResult[None]]:
        """Yield the slices of all sweeps, each decided on what those before have changed."""
        while self._sweeps:
            sweep = self._sweeps[0]
            records, has_ended = self._slice(sweep)
            if has_ended:
                self._sweeps.remove(sweep)
            yield ControllerResult(tuple(records), None, is_atomic=False)

    # --- Inside

    def _in_sync(self, broker_id: int) -> Iterator[PartitionKey]:
        return iter(self._state.partitions.in_sync(broker_id))

    def _in_sync_or_eligible(self, broker_id: int) -> Iterator[PartitionKey]:
        return chain(self._in_sync(broker_id), iter(self._state.partitions.eligible(broker_id)))

    def _resume(self) -> None:
        """Begin what an earlier controller may not have finished; it is the activation of this one."""
        partitions, brokers = self._state.partitions, self._state.image.cluster.brokers
        for broker_id in partitions.brokers_in_sync:
            broker = brokers.get(broker_id)
            if broker is None or broker.fenced:
                keys = self._in_sync(broker_id)
                self._follow(Sweep(cause=Cause.LEFT, broker_id=broker_id, keys=keys, is_resumed=True))
        if partitions.are_some_without_leader:
            keys = iter(partitions.without_leader())
            self._follow(Sweep(cause=Cause.ACTIVATION, broker_id=_ANY_BROKER, keys=keys, is_resumed=True))

    def _begin(self, sweep: Sweep) -> list[VersionedRecord]:
        """Return the changes of the first slice; what is left of the sweep follows by `due`."""
        if sweep.cause is Cause.LEFT:
            # It takes all partitions of the broker, whatever was under way with some of them.
            self._sweeps = [each for each in self._sweeps if each.broker_id != sweep.broker_id]
        # What has ended was about the broker as it was before.
        self._ended = {each for each in self._ended if each[0] != sweep.broker_id}
        records, has_ended = self._slice(sweep)
        if not has_ended:
            self._sweeps.append(sweep)
        return records

    def _before(self, sweep: Sweep) -> list[VersionedRecord] | None:
        """Return all changes of a sweep if they are one slice or made already, else None."""
        if sweep.key in self._ended:
            self._ended.remove(sweep.key)
            return []
        if any(each.key == sweep.key for each in self._sweeps):
            return None
        partitions = self._state.partitions
        if len(partitions.in_sync(sweep.broker_id)) + len(partitions.eligible(sweep.broker_id)) < PARTITIONS_PER_SLICE:
            return self._slice(sweep)[0]
        self._follow(sweep)
        return None

    def _follow(self, sweep: Sweep) -> None:
        """Have all slices of a sweep decided by `due`."""
        sweep.is_first = False
        self._sweeps.append(sweep)

    def _slice(self, sweep: Sweep) -> tuple[list[VersionedRecord], bool]:
        """Return the changes of the next slice, and whether it was the last one."""
        is_first, sweep.is_first = sweep.is_first, False
        if not is_first and not self._holds(sweep):
            return [], True
        keys = list(islice(sweep.keys, PARTITIONS_PER_SLICE))
        decision = self._decision(sweep, is_first=is_first)
        records = [record for key in keys if (record := self._change(decision, sweep, key)) is not None]
        has_ended = len(keys) < PARTITIONS_PER_SLICE
        if has_ended and not is_first and sweep.cause.comes_first:
            self._ended.add(sweep.key)
        return records, has_ended

    def _holds(self, sweep: Sweep) -> bool:
        """Return whether the broker is still what the sweep is about."""
        if sweep.cause is Cause.ACTIVATION:
            return True
        is_active = self._is_active(sweep.broker_id)
        if sweep.cause is Cause.DIRECTORIES_OFFLINE:
            # One that is fenced leaves all of its partitions.
            return is_active
        return is_active == (sweep.cause is Cause.JOINED)

    def _is_active(self, broker_id: int) -> bool:
        return ReplicationDecision(self._state, self._configs).is_active(broker_id)

    def _decision(self, sweep: Sweep, *, is_first: bool) -> ReplicationDecision:
        if sweep.cause is Cause.JOINED:
            return ReplicationDecision(self._state, self._configs, joining=sweep.broker_id if is_first else None)
        leaving = None if sweep.cause is Cause.ACTIVATION else sweep.broker_id
        return ReplicationDecision(self._state, self._configs, leaving=leaving)

    def _change(self, decision: ReplicationDecision, sweep: Sweep, key: PartitionKey) -> VersionedRecord | None:
        found = decision.partition(key)
        if found is None:
            return None
        (topic, partition), broker_id = found, sweep.broker_id
        # What was judged before waits for its turn to get a leader that may lack records.
        election = Election.ONLINE if sweep.is_resumed and partition.leader != broker_id else None
        if sweep.cause in {Cause.JOINED, Cause.ACTIVATION}:
            return decision.change(topic, key.partition_id, partition, election=election)
        if sweep.directories and decision.directory(partition, broker_id) not in sweep.directories:
            return None
        return decision.change(
            topic,
            key.partition_id,
            partition,
            election=election,
            isr=without(partition.isr, (broker_id,)),
            unclean_shutdown=(broker_id,) if sweep.cause is Cause.UNCLEAN_SHUTDOWN else (),
        )
