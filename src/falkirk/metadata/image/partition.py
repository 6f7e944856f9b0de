"""One partition: its replicas and their directories, leader, ISR and eligible leader replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

import msgspec

from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import partition_key
from falkirk.protocol.messages import PartitionRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.protocol.messages import PartitionChangeRecord
    from falkirk.versions.metadata_version import MetadataVersion

NO_LEADER: Final = -1
NO_LEADER_CHANGE: Final = -2

# Values of the leader recovery state. Source: KIP-704.
RECOVERED: Final = 0
RECOVERING: Final = 1
NO_RECOVERY_CHANGE: Final = -1

# Directories with a meaning of their own. Source: KIP-858.
MIGRATING: Final = bytes(16)
"""The directory of a replica that is not known yet: the log has directories from 3.7-IV2 on."""
UNASSIGNED: Final = bytes(15) + b"\x01"
LOST: Final = bytes(15) + b"\x02"
_RECOVERY_STATES: Final = (RECOVERED, RECOVERING)


class Partition(msgspec.Struct, frozen=True, gc=False):
    """One partition, without its number. Names are those of PartitionRecord.

    `directories` has one entry for each replica. Lists that a record can leave out are empty here.
    """

    replicas: tuple[int, ...]
    directories: tuple[bytes, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: int = RECOVERED
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @classmethod
    def from_record(cls, record: PartitionRecord) -> Partition:
        """Return a record's partition. Raises InconsistentRecordError for impossible directories or recovery state."""
        replicas = tuple(record.replicas)
        directories = tuple(record.directories)
        if directories and len(directories) != len(replicas):
            _reject(record, f"{len(directories)} directories for {len(replicas)} replicas")
        if record.leader_recovery_state not in _RECOVERY_STATES:
            _reject(record, f"unknown leader recovery state {record.leader_recovery_state}")
        return cls(
            replicas=replicas,
            directories=directories or _migrating(len(replicas)),
            isr=tuple(record.isr),
            leader=record.leader,
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
            leader_recovery_state=record.leader_recovery_state,
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
        )

    def changed_by(self, record: PartitionChangeRecord) -> Partition:
        """Return the partition after a change; the partition epoch rises by one, the leader epoch if a leader is named.

        Null leaves a list as it is, -2 the leader, -1 the recovery state; leader -1 means that there is none.
        Raises InconsistentRecordError if directories or recovery state are impossible.
        """
        replicas = self.replicas if record.replicas is None else tuple(record.replicas)
        state = record.leader_recovery_state
        if state == NO_RECOVERY_CHANGE:
            state = self.leader_recovery_state
        elif state not in _RECOVERY_STATES:
            _reject(record, f"unknown leader recovery state {state}")
        has_leader_change = record.leader != NO_LEADER_CHANGE
        return Partition(
            replicas,
            self._changed_directories(record, len(replicas)),
            _changed(self.isr, record.isr),
            record.leader if has_leader_change else self.leader,
            self.leader_epoch + has_leader_change,
            self.partition_epoch + 1,
            state,
            _changed(self.removing_replicas, record.removing_replicas),
            _changed(self.adding_replicas, record.adding_replicas),
            _changed(self.eligible_leader_replicas, record.eligible_leader_replicas),
            _changed(self.last_known_elr, record.last_known_elr),
        )

    def without_elr(self) -> Partition:
        """Return the partition after a ClearElrRecord, unchanged if there was nothing to clear."""
        if not self.eligible_leader_replicas and not self.last_known_elr:
            return self
        return msgspec.structs.replace(
            self, eligible_leader_replicas=(), last_known_elr=(), partition_epoch=self.partition_epoch + 1
        )

    def to_record(
        self, topic_id: bytes, partition_id: int, at: MetadataVersion, *, elr_enabled: bool
    ) -> tuple[PartitionRecord, int]:
        """Return what a metadata.version can hold of the partition, as (record, record version)."""
        record = PartitionRecord(
            partition_id,
            topic_id,
            self.replicas,
            self.isr,
            self.removing_replicas,
            self.adding_replicas,
            self.leader,
            self.leader_recovery_state,
            self.leader_epoch,
            self.partition_epoch,
        )
        if at.directory_assignment_supported:
            record.directories = self.directories
        if elr_enabled and at.elr_supported:
            # Tagged: an empty list is left out.
            record.eligible_leader_replicas = self.eligible_leader_replicas or None
            record.last_known_elr = self.last_known_elr or None
        return record, at.partition_record_version

    def _changed_directories(self, record: PartitionChangeRecord, replica_count: int) -> tuple[bytes, ...]:
        directories = self.directories if record.directories is None else tuple(record.directories)
        if len(directories) == replica_count:
            return directories
        # A log from before 3.7-IV2 changes replicas and never says where they lie.
        if any(directory != MIGRATING for directory in directories):
            _reject(record, f"{len(directories)} directories for {replica_count} replicas")
        return _migrating(replica_count)


def _migrating(replica_count: int) -> tuple[bytes, ...]:
    return (MIGRATING,) * replica_count


def _changed(current: tuple[int, ...], change: Sequence[int] | None) -> tuple[int, ...]:
    # An equal list keeps the old tuple, which other partitions may share.
    if change is None:
        return current
    new = tuple(change)
    return current if new == current else new


def _reject(record: PartitionRecord | PartitionChangeRecord, reason: str) -> NoReturn:
    key = partition_key(record.topic_id, record.partition_id)
    raise InconsistentRecordError(type(record).__name__, reason, key=key)
