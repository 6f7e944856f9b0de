"""How one partition changes: who leads it, who is in sync, who stays eligible, and the record that says so.

Every change, whatever its reason, goes through here: a reassignment that can end does, a leader is elected if the
one that there is cannot lead, and epochs rise as brokers of the finalized level need it. Source: KIP-455, KIP-704,
KIP-858, KIP-966 and Kafka's controller.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.metadata.controller.partitions.partition_reassignment import Reassignment
from falkirk.metadata.image.partition import NO_LEADER, NO_LEADER_CHANGE, NO_RECOVERY_CHANGE, RECOVERING
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import PartitionChangeRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.image.partition import Partition
    from falkirk.versions.metadata_version import MetadataVersion


class Election(enum.Enum):
    """How far an election may go."""

    PREFERRED = "preferred"  # the first replica, if it is in sync; else whoever keeps the partition online
    ONLINE = "online"  # only a replica that is in sync, or eligible
    UNCLEAN = "unclean"  # if there is none, any replica that is alive: data may be lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Inputs of a partition change besides the partition.

    `may_lead`: whether a replica's broker is active and its directory online. `default_directory`: where a broker's
    new replica is placed. `elr_enabled`: eligible.leader.replicas.version is finalized.
    """

    metadata_version: "MetadataVersion"
    elr_enabled: bool
    min_insync_replicas: int
    may_lead: "Callable[[int], bool]"
    default_directory: "Callable[[int], bytes]"


@dataclass(slots=True, kw_only=True)
class PartitionChange:
    """A change in the making; what is not given stays as it is in `partition`."""

    topic_id: bytes
    partition_id: int
    partition: "Partition"
    surroundings: Surroundings
    election: Election = Election.ONLINE
    isr: tuple[int, ...] | None = None
    reassignment: Reassignment | None = None
    leader_recovery_state: int | None = None
    # Replicas whose brokers lost writes when they went down: they are not eligible any more.
    unclean_shutdown: tuple[int, ...] = ()
    directories: "Mapping[int, bytes] | None" = None

    def record(self) -> VersionedRecord | None:
        """Return the record that says what changes; None if nothing does."""
        partition = self.partition
        record = PartitionChangeRecord(self.partition_id, self.topic_id)
        isr, target = self._targets()
        elr = self._eligible_leader_replicas(isr, target.replicas)
        leader, is_unclean = self._elect(isr, elr, target.replicas)
        is_unclean = is_unclean and leader != partition.leader
        if leader != partition.leader:
            record.leader = leader
            if is_unclean:
                # Nobody knows what the others have: the leader stands alone until it has recovered.
                isr, elr = (leader,), ()
                if partition.leader_recovery_state != RECOVERING and _has_leader_recovery(self._at):
                    record.leader_recovery_state = RECOVERING
            elif leader in elr:
                isr, elr = (leader,), tuple(replica for replica in elr if replica != leader)
        if record.leader == NO_LEADER_CHANGE and not _holds(target.replicas, partition.replicas):
            # Brokers that lost their replica must not go on fetching in the leader's epoch.
            record.leader = partition.leader
        if elr != partition.eligible_leader_replicas:
            record.eligible_leader_replicas = elr
        if is_unclean or (isr != partition.isr and (isr or self.surroundings.elr_enabled)):
            record.isr = isr
            self._bump_for_isr_shrink(record, isr)
        self._keep_last_known_leader(record, has_candidates=bool(isr or elr))
        self._assign(record, target)
        state = self.leader_recovery_state
        if state is not None and state != partition.leader_recovery_state:
            record.leader_recovery_state = state
        if _changes_nothing(record):
            return None
        return VersionedRecord(record, self._at.partition_change_record_version)

    @property
    def _at(self) -> MetadataVersion:
        return self.surroundings.metadata_version

    def _targets(self) -> tuple[tuple[int, ...], Reassignment]:
        """Return the new ISR and assignment: those asked for, or those at the end of a reassignment."""
        partition = self.partition
        isr = partition.isr if self.isr is None else self.isr
        target = self.reassignment
        if target is None:
            target = Reassignment(partition.replicas, partition.removing_replicas, partition.adding_replicas)
        completed = target.completed(isr)
        if completed is None:
            return isr, target
        replicas, isr = completed
        return isr, Reassignment(replicas)

    def _eligible_leader_replicas(self, isr: tuple[int, ...], replicas: tuple[int, ...]) -> tuple[int, ...]:
        """Return the replicas that hold every committed record: below min.insync.replicas nothing new is committed.

        Differs from Kafka: replicas that a reassignment removes do not stay eligible.
        """
        partition = self.partition
        surroundings = self.surroundings
        if not surroundings.elr_enabled or len(isr) >= surroundings.min_insync_replicas:
            return ()
        candidates = {*partition.eligible_leader_replicas, *partition.isr}.difference(isr, self.unclean_shutdown)
        return tuple(sorted(candidates.intersection(replicas)))

    def _elect(self, isr: tuple[int, ...], elr: tuple[int, ...], replicas: tuple[int, ...]) -> tuple[int, bool]:
        """Return (leader, whether the election may lose data)."""
        partition = self.partition
        may_lead = self.surroundings.may_lead
        candidates = isr or elr
        if self.election is Election.PREFERRED and replicas and replicas[0] in candidates and may_lead(replicas[0]):
            return replicas[0], False
        if partition.leader in candidates and may_lead(partition.leader):
            return partition.leader, False
        for replica in replicas:
            if replica in candidates and may_lead(replica):
                return replica, False
        if not candidates and self.surroundings.elr_enabled and len(partition.last_known_elr) == 1:
            (last_known,) = partition.last_known_elr
            # Differs from Kafka: a reassignment may have taken its replica away since.
            if last_known in replicas and may_lead(last_known):
                return last_known, True
        if self.election is Election.UNCLEAN:
            for replica in replicas:
                if may_lead(replica):
                    return replica, True
        return NO_LEADER, False

    def _bump_for_isr_shrink(self, record: PartitionChangeRecord, isr: tuple[int, ...]) -> None:
        # Brokers before 3.6 need a new leader epoch to take notice that the ISR has shrunk (KAFKA-15021).
        is_due = record.leader == NO_LEADER_CHANGE and self._at.leader_epoch_bump_required_on_isr_shrink
        if is_due and not _holds(isr, self.partition.isr):
            record.leader = self.partition.leader

    def _keep_last_known_leader(self, record: PartitionChangeRecord, *, has_candidates: bool) -> None:
        """With ELR, the list of last known replicas holds the leader that went last, until there is one again.

        Differs from Kafka: where the leader went before ELR was switched on, it was who then is the only one that may
        lead; Kafka forgets it, and nobody leads any more without an operator.
        """
        partition = self.partition
        if not self.surroundings.elr_enabled:
            return
        if record.leader == NO_LEADER and not partition.last_known_elr:
            if partition.leader != NO_LEADER:
                record.last_known_elr = (partition.leader,)
        elif record.leader >= 0 and partition.last_known_elr:
            record.last_known_elr = ()
        elif not has_candidates and not partition.last_known_elr and partition.leader == NO_LEADER:
            candidates = (*partition.isr, *partition.eligible_leader_replicas)
            record.last_known_elr = candidates if len(candidates) == 1 else None

    def _assign(self, record: PartitionChangeRecord, target: Reassignment) -> None:
        partition = self.partition
        if self._at.directory_assignment_supported:
            directories = self._directories(target.replicas)
            if directories != partition.directories:
                record.directories = directories
        if target.replicas != partition.replicas:
            record.replicas = target.replicas
        if target.removing != partition.removing_replicas:
            record.removing_replicas = target.removing
        if target.adding != partition.adding_replicas:
            record.adding_replicas = target.adding

    def _directories(self, replicas: tuple[int, ...]) -> tuple[bytes, ...]:
        partition = self.partition
        changes = self.directories
        if replicas == partition.replicas and not changes:
            return partition.directories
        known = dict(zip(partition.replicas, partition.directories, strict=True))
        if changes:
            known.update(changes)
        default = self.surroundings.default_directory
        return tuple(known[replica] if replica in known else default(replica) for replica in replicas)


def is_unclean_election(before: Partition, change: PartitionChangeRecord) -> bool:
    """Return whether a change of a partition elects a leader that may lack committed records."""
    if change.leader < 0:
        return False
    # One that is still recovering from such an election says nothing of the next one; nobody else is in sync then.
    has_begun_before = before.leader_recovery_state == RECOVERING and change.leader_recovery_state == NO_RECOVERY_CHANGE
    return change.leader_recovery_state == RECOVERING or (
        has_begun_before and change.leader not in (*before.isr, *before.eligible_leader_replicas)
    )


def _holds(replicas: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return replicas is others or set(others).issubset(replicas)


def _has_leader_recovery(at: MetadataVersion) -> bool:
    return "leader_recovery" in at.abilities


def _changes_nothing(record: PartitionChangeRecord) -> bool:
    return (
        record.leader == NO_LEADER_CHANGE
        and record.isr is None
        and record.leader_recovery_state == NO_RECOVERY_CHANGE
        and record.replicas is None
        and record.removing_replicas is None
        and record.adding_replicas is None
        and record.directories is None
        and record.eligible_leader_replicas is None
        and record.last_known_elr is None
    )
