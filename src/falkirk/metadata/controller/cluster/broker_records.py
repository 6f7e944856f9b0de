"""The records that change a broker's registration, as each metadata.version has them.

BrokerRegistrationChangeRecord is written in the lowest version that holds its field, as Kafka does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import BrokerRegistrationChangeRecord, FenceBrokerRecord, UnfenceBrokerRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.versions.metadata_version import MetadataVersion


def fence_record(broker: BrokerRegistration, at: MetadataVersion) -> VersionedRecord:
    """Return the record that fences a broker."""
    if at.broker_registration_change_record_supported:
        return VersionedRecord(_change(broker, fenced=1), 0)
    return VersionedRecord(FenceBrokerRecord(broker.broker_id, broker.broker_epoch), 0)


def unfence_record(broker: BrokerRegistration, at: MetadataVersion) -> VersionedRecord:
    """Return the record that unfences a broker."""
    if at.broker_registration_change_record_supported:
        return VersionedRecord(_change(broker, fenced=-1), 0)
    return VersionedRecord(UnfenceBrokerRecord(broker.broker_id, broker.broker_epoch), 0)


def controlled_shutdown_records(broker: BrokerRegistration, at: MetadataVersion) -> list[VersionedRecord]:
    """Return the record of a controlled shutdown; none if the broker is in one, or the level has no field for it."""
    if broker.in_controlled_shutdown or not at.in_controlled_shutdown_supported:
        return []
    return [VersionedRecord(_change(broker, in_controlled_shutdown=1), 1)]


def log_dirs_record(broker: BrokerRegistration, online: Sequence[bytes]) -> VersionedRecord:
    """Return the record of a broker's remaining log directories, at least one: none changes nothing (from 3.7-IV2)."""
    assert online
    return VersionedRecord(_change(broker, log_dirs=tuple(online)), 2)


def cordoned_log_dirs_record(broker: BrokerRegistration, cordoned: Sequence[bytes]) -> VersionedRecord:
    """Return the record with the log directories of a broker that accept no new replicas (from 4.3-IV0)."""
    return VersionedRecord(_change(broker, cordoned_log_dirs=tuple(cordoned)), 3)


def _change(
    broker: BrokerRegistration,
    *,
    fenced: int = 0,
    in_controlled_shutdown: int = 0,
    log_dirs: tuple[bytes, ...] = (),
    cordoned_log_dirs: tuple[bytes, ...] | None = None,
) -> BrokerRegistrationChangeRecord:
    return BrokerRegistrationChangeRecord(
        broker_id=broker.broker_id,
        broker_epoch=broker.broker_epoch,
        fenced=fenced,
        in_controlled_shutdown=in_controlled_shutdown,
        log_dirs=log_dirs,
        cordoned_log_dirs=cordoned_log_dirs,
    )
