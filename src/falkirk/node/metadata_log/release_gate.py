"""Checks that a node's release can read the metadata log.

The loader reads all that any release up to 4.4 writes; a node must stop where its own release would. Sources:
MetadataRecordSerde, FeatureControlManager.replay. Differs from Kafka: a 3.7 broker that meets a record that it cannot
read stays up and never serves; ours stops, as brokers from 3.9 on do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.records.errors import InconsistentRecordError, RecordError, UnreadableRecordError
from falkirk.metadata.records.record_reader import read_record
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import METADATA_RECORDS, FeatureLevelRecord
from falkirk.protocol.metadata_record import decode_frame, encode_frame
from falkirk.versions.features import unsupported_features
from falkirk.versions.metadata_version import METADATA_VERSION
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.metadata.records.batch import MetadataBatch
    from falkirk.versions.release import Release

_FRAME_BYTES: Final = 3


class UnsupportedLevelError(InconsistentRecordError):
    """A level is finalized that the release does not support."""


class ReleaseGate:
    """Accepts the records that the release reads. Costs a lookup of three bytes per record."""

    def __init__(self, release: Release, *, is_controller: bool, unstable: bool = False) -> None:
        self._release = release
        self._is_controller = is_controller
        self._supported = release.supported_features(unstable=unstable)
        self._records = release.kraft.metadata_records
        self._feature_level_frames = frozenset(
            encode_frame(support.id, version)
            for support in self._records.values()
            if support.name == FeatureLevelRecord.SCHEMA.info.name
            for version in support.versions
        )
        self._frames = (
            frozenset(
                encode_frame(support.id, version) for support in self._records.values() for version in support.versions
            )
            - self._feature_level_frames
        )

    def check(self, batches: Iterable[MetadataBatch]) -> None:
        """Raise RecordError, with offset and source, at the first record that the release does not accept."""
        known = self._frames
        for batch in batches:
            for offset, value in enumerate(batch.values, batch.base_offset):
                if value[:_FRAME_BYTES] in known:
                    continue
                try:
                    self._check_value(value)
                except RecordError as error:
                    error.locate(offset, batch.source)
                    raise

    def check_levels(self, levels: Mapping[str, int]) -> None:
        """Raise UnsupportedLevelError if the release does not support all finalized levels (KIP-584).

        Differs from Kafka: its brokers ignore features that they do not know, and only fail to register.
        """
        for unsupported in unsupported_features(levels, self._supported):
            reason = f"release {self._release} does not support what the cluster has finalized: {unsupported}"
            raise UnsupportedLevelError("FeatureLevelRecord", reason)

    def _check_value(self, value: bytes) -> None:
        if value[:_FRAME_BYTES] in self._feature_level_frames:
            record = read_record(value)
            assert isinstance(record, FeatureLevelRecord), "by its frame"
            self._check_level(record)
            return
        try:
            record_type, version, _ = decode_frame(value)
        except RemoteProtocolError as error:
            raise UnreadableRecordError("metadata record", str(error)) from error
        support = self._records.get(record_type)
        name = METADATA_RECORDS.get(record_type, f"metadata record of type {record_type}")
        if support is None:
            raise UnreadableRecordError(name, f"Unknown metadata id {record_type}")
        if version not in support.versions:
            raise UnreadableRecordError(name, f"Can't read version {version} of {name}")

    def _check_level(self, record: FeatureLevelRecord) -> None:
        name, level = record.name, record.feature_level
        # A feature that a node does not know may be at level 0: disabled.
        supported = self._supported.get(name, SupportedRange(0, 0))
        if level in supported or (level == 0 and name != METADATA_VERSION):
            return
        if self._is_controller:
            reason = (
                f"Tried to apply FeatureLevelRecord(name='{name}', featureLevel={level}), but this controller only "
                f"supports versions {supported}"
            )
            raise UnsupportedLevelError("FeatureLevelRecord", reason)
        if name == METADATA_VERSION:
            raise UnsupportedLevelError("FeatureLevelRecord", f"No MetadataVersion with feature level {level}")
