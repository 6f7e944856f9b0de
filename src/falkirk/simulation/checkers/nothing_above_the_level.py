"""NothingAboveTheLevel: log and snapshots hold no record that the metadata.version in force there does not have."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from falkirk.protocol.messages import FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_frame, decode_metadata_record
from falkirk.simulation.checkers.checker import Checker
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.simulation.views.replica_view import ReplicaView

_FEATURE_LEVEL = FeatureLevelRecord.SCHEMA.info.key


class NothingAboveTheLevel(Checker):
    """Checks types and versions of records: each offset once, and each new snapshot of each node.

    The batch that changes the level may hold records of both levels; what follows holds only those of the new one. One
    check per committed offset is enough: it is the same on all nodes (ConsistentCommittedData).
    """

    def __init__(self) -> None:
        self._checked = 0
        self._level: MetadataVersion | None = None
        self._snapshots: dict[int, OffsetAndEpoch | None] = {}

    def after_step(self, replica: ReplicaView) -> None:
        """Check newly committed batches and a new snapshot."""
        high_watermark = replica.raft.high_watermark
        if high_watermark is not None and high_watermark > self._checked:
            self._check_log(replica, high_watermark)
        latest = replica.log.latest_snapshot
        if latest is not None and latest != self._snapshots.get(replica.node_id):
            self._snapshots[replica.node_id] = latest
            values = [value for batch in replica.log.load_snapshot(latest).data_batches for value in batch.values()]
            level = _level_set(values)
            if level is not None:
                self._check(values, level, f"snapshot {latest.offset}-{latest.epoch} of node {replica.node_id}")

    def _check_log(self, replica: ReplicaView, high_watermark: int) -> None:
        if replica.log.start_offset > self._checked:
            # No node has the earlier batches any more; the image there has the level in force.
            if replica.image.provenance.end_offset < replica.log.start_offset:
                return
            self._checked = replica.image.provenance.end_offset
            self._level = replica.image.features.metadata_version
        for batch in replica.log.batches(self._checked, high_watermark):
            self._checked = batch.end_offset
            if batch.is_control:
                continue
            values = batch.values()
            changed = _level_set(values)
            if changed is None and self._level is not None:
                self._check(values, self._level, f"the log of node {replica.node_id} at offset {batch.base_offset}")
            self._level = changed or self._level

    def _check(self, values: Iterable[bytes], level: MetadataVersion, where: str) -> None:
        highest = _highest_versions(level)
        for value in values:
            record_type, version, _ = decode_frame(value)
            if version > highest.get(record_type, -1):
                raise self.violated(f"{where}: a record of type {record_type}, version {version} at {level}")


def _level_set(values: Iterable[bytes]) -> MetadataVersion | None:
    """Return the last level that the records set; None if they set none."""
    level = None
    for value in values:
        if decode_frame(value)[0] == _FEATURE_LEVEL:
            record, _ = decode_metadata_record(value)
            assert isinstance(record, FeatureLevelRecord), "by its frame"
            if record.name == METADATA_VERSION:
                level = MetadataVersion.of_level(record.feature_level)
    return level


@functools.cache
def _highest_versions(level: MetadataVersion) -> Mapping[int, int]:
    """Return the highest version of each record type that a log may hold at a level.

    These are the versions that the level's own release reads, without those it writes only at later levels.
    """
    records = Release.parse(level.release).kraft.metadata_records
    by_name = {
        # From the level's facts, independently of the code that writes.
        "PartitionRecord": level.writes["partition"],
        "PartitionChangeRecord": level.writes["partition_change"],
        "RegisterBrokerRecord": level.writes["register_broker"],
        "BrokerRegistrationChangeRecord": level.broker_registration_change_record_version_max,
    }
    return {
        record_type: by_name.get(support.name, support.versions.highest)
        for record_type, support in records.items()
        if support.name != "RegisterControllerRecord" or level.controller_registration_supported
    }
