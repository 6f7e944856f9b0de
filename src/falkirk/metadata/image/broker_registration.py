"""A broker's registration, with later changes."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.metadata.records.errors import InconsistentRecordError
from falkirk.metadata.records.record_key import broker_key
from falkirk.protocol.messages import RegisterBrokerRecord
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.protocol.messages import BrokerRegistrationChangeRecord
    from falkirk.versions.metadata_version import MetadataVersion

_FENCE: Final = {1: True, 0: None, -1: False}
# A controlled shutdown ends only with a new registration.
_IN_CONTROLLED_SHUTDOWN: Final = {1: True, 0: None}
# Where a replica is said to be that the controller knows no place of.
_ANYWHERE: Final = frozenset({MIGRATING, UNASSIGNED})
_SIGNED_HALVES: Final = struct.Struct(">qq")


class Endpoint(msgspec.Struct, frozen=True):
    """One listener of a registered node."""

    name: str
    host: str
    port: int
    security_protocol: int


class SupportedFeature(msgspec.Struct, frozen=True):
    """The levels of one feature that a node supports."""

    name: str
    min_supported_version: int
    max_supported_version: int


class BrokerRegistration(msgspec.Struct, frozen=True):
    """One broker. Names are those of RegisterBrokerRecord.

    Listeners and features are sorted by name and log dirs as Kafka sorts them: their order in records has no
    meaning. Cordoned log dirs keep theirs, as in Kafka; None: the broker has not reported any.
    """

    broker_id: int
    broker_epoch: int
    incarnation_id: bytes
    end_points: tuple[Endpoint, ...] = ()
    features: tuple[SupportedFeature, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    is_migrating_zk_broker: bool = False
    log_dirs: tuple[bytes, ...] = ()
    cordoned_log_dirs: tuple[bytes, ...] | None = None

    @classmethod
    def from_record(cls, record: RegisterBrokerRecord) -> BrokerRegistration:
        """Return the registration that a record holds."""
        cordoned = record.cordoned_log_dirs
        return cls(
            broker_id=record.broker_id,
            broker_epoch=record.broker_epoch,
            incarnation_id=record.incarnation_id,
            end_points=sorted_endpoints(
                Endpoint(point.name, point.host, point.port, point.security_protocol) for point in record.end_points
            ),
            features=sorted_features(
                SupportedFeature(feature.name, feature.min_supported_version, feature.max_supported_version)
                for feature in record.features
            ),
            rack=record.rack,
            fenced=record.fenced,
            in_controlled_shutdown=record.in_controlled_shutdown,
            is_migrating_zk_broker=record.is_migrating_zk_broker,
            log_dirs=_sorted_directories(record.log_dirs),
            cordoned_log_dirs=None if cordoned is None else tuple(cordoned),
        )

    def changed_by(self, record: BrokerRegistrationChangeRecord) -> BrokerRegistration:
        """Return the registration after a change; an empty list of log dirs changes nothing, one of cordoned dirs does.

        Raises InconsistentRecordError for a change of a kind that no release knows.
        """
        cordoned = record.cordoned_log_dirs
        return msgspec.structs.replace(
            self,
            fenced=_flag(record, "fenced", record.fenced, current=self.fenced, sets=_FENCE),
            in_controlled_shutdown=_flag(
                record,
                "inControlledShutdown",
                record.in_controlled_shutdown,
                current=self.in_controlled_shutdown,
                sets=_IN_CONTROLLED_SHUTDOWN,
            ),
            log_dirs=_sorted_directories(record.log_dirs) or self.log_dirs,
            cordoned_log_dirs=self.cordoned_log_dirs if cordoned is None else tuple(cordoned),
        )

    def has_working(self, directory: bytes) -> bool:
        """Return whether a replica in `directory` may be online: the directory has not failed, as far as is known.

        Source: BrokerRegistration.hasOnlineDir, DirectoryId.isOnline.
        """
        if directory in _ANYWHERE:
            return True
        # A registration from below 3.7-IV2 has no directories; the broker would be down if all had failed.
        return directory != LOST and (not self.log_dirs or directory in self.log_dirs)

    def with_fencing(self, *, fenced: bool) -> BrokerRegistration:
        """Return the registration fenced or unfenced."""
        return msgspec.structs.replace(self, fenced=fenced)

    def to_record(self, at: MetadataVersion) -> tuple[RegisterBrokerRecord, int]:
        """Return what a metadata.version can hold of the registration, as (record, record version)."""
        record = RegisterBrokerRecord(
            broker_id=self.broker_id,
            is_migrating_zk_broker=self.is_migrating_zk_broker and at.migration_supported,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.broker_epoch,
            end_points=[
                BrokerEndpoint(point.name, point.host, point.port, point.security_protocol) for point in self.end_points
            ],
            features=[
                BrokerFeature(feature.name, feature.min_supported_version, feature.max_supported_version)
                for feature in self.features
            ],
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown and at.in_controlled_shutdown_supported,
        )
        if at.directory_assignment_supported:
            record.log_dirs = self.log_dirs
        if at.cordoned_log_dirs_supported:
            record.cordoned_log_dirs = self.cordoned_log_dirs
        return record, at.register_broker_record_version


def sorted_endpoints(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """Sort listeners by name; of two with one name the last one counts."""
    by_name = {endpoint.name: endpoint for endpoint in endpoints}
    return tuple(by_name[name] for name in sorted(by_name))


def sorted_features(features: Iterable[SupportedFeature]) -> tuple[SupportedFeature, ...]:
    """Sort features by name; of two with one name the last one counts."""
    by_name = {feature.name: feature for feature in features}
    return tuple(by_name[name] for name in sorted(by_name))


def _sorted_directories(directories: Iterable[bytes]) -> tuple[bytes, ...]:
    # Kafka compares uuids as two signed numbers.
    return tuple(sorted(directories, key=_SIGNED_HALVES.unpack))


def _flag(
    record: BrokerRegistrationChangeRecord, name: str, value: int, *, current: bool, sets: dict[int, bool | None]
) -> bool:
    if value not in sets:
        reason = f"unknown value {value} of {name}"
        raise InconsistentRecordError("BrokerRegistrationChangeRecord", reason, key=broker_key(record.broker_id))
    change = sets[value]
    return current if change is None else change
