"""Records that a new active controller appends first: the bootstrap records, and the end of an open transaction.

Sources: KIP-778 (metadata.version), KIP-868 (metadata transactions), KIP-866 (migrations), KIP-966 (ELR).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.configs.configuration_control import min_insync_replicas_record
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.image.features import NO_ZK_MIGRATION
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    ZkMigrationStateRecord,
)
from falkirk.versions.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from falkirk.versions.metadata_version import METADATA_VERSION, MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings


_MIGRATING: Final = 1
_MIGRATED: Final = 3


class ActivationError(Exception):
    """A metadata log with which no controller of this release can go on; the text is one line for the operator."""


def activation_results(
    state: ControllerState,
    settings: ControllerSettings,
    bootstrap_records: Sequence[VersionedRecord],
    *,
    open_transaction_offset: int | None,
) -> list[ControllerResult[None]]:
    """Return the results to append, in order; empty if there is nothing to do.

    `state`: at the end of a fully committed log, without the records of an open transaction.
    `bootstrap_records`: those of formatting; metadata.version's must be among them. `open_transaction_offset`: where a
    transaction begins that an earlier leader did not end. Raises ActivationError.
    """
    if not is_log_empty(state):
        return _for_existing_log(state, settings, open_transaction_offset)
    levels = _levels(bootstrap_records)
    assert METADATA_VERSION in levels, "formatting always says metadata.version"
    version = MetadataVersion.of_level(levels[METADATA_VERSION])
    aborts = _aborts(version, open_transaction_offset)
    records = [*bootstrap_records]
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0:
        records.append(min_insync_replicas_record(settings))
    # Releases without ZooKeeper take no notice of it.
    if settings.release.has_zookeeper and version.migration_supported:
        records.append(VersionedRecord(ZkMigrationStateRecord(NO_ZK_MIGRATION), 0))
    if not version.metadata_transaction_supported:
        # All of it in one batch: there is no other way to have all or nothing.
        return [ControllerResult(tuple(records), None)]
    begin = VersionedRecord(BeginTransactionRecord(name="Bootstrap records"), 0)
    end = VersionedRecord(EndTransactionRecord(), 0)
    return [ControllerResult((*aborts, begin, *records, end), None, is_atomic=False)]


def is_log_empty(state: ControllerState) -> bool:
    """Return whether the log holds no records but those of a transaction that was never ended."""
    return state.image.has_same_content(EMPTY)


def level_warning(state: ControllerState) -> str | None:
    """Return a warning that the log has no metadata.version and counts as a preview release; None if it has one."""
    if is_log_empty(state) or state.image.features.metadata_version is not None:
        return None
    return f"the log has no {METADATA_VERSION}: it is treated as {state.metadata_version} (KIP-778)"


def _for_existing_log(
    state: ControllerState, settings: ControllerSettings, open_transaction_offset: int | None
) -> list[ControllerResult[None]]:
    version = state.metadata_version
    lowest = settings.release.kraft.metadata_versions[0]
    # Differs from Kafka: 4.3 takes such a log for an empty one, and writes its own level into it while it ends.
    if version < lowest:
        raise ActivationError(
            f"the metadata log is at {METADATA_VERSION} {version}, and release {settings.release} needs {lowest}"
        )
    records = _aborts(version, open_transaction_offset)
    if settings.release.has_zookeeper and state.image.features.zk_migration_state == _MIGRATING:
        # No controller of ours has zookeeper.metadata.migration.enable, which is how a migration is ended.
        records.append(VersionedRecord(ZkMigrationStateRecord(_MIGRATED), 0))
    return [ControllerResult(tuple(records), None)] if records else []


def _aborts(version: MetadataVersion, open_transaction_offset: int | None) -> list[VersionedRecord]:
    if open_transaction_offset is None:
        return []
    if not version.metadata_transaction_supported:
        raise ActivationError(
            f"a metadata transaction of offset {open_transaction_offset} is open, and {METADATA_VERSION} {version} "
            "knows no transactions"
        )
    return [VersionedRecord(AbortTransactionRecord(reason="Controller failover"), 0)]


def _levels(records: Sequence[VersionedRecord]) -> Mapping[str, int]:
    return {record.name: record.feature_level for record, _ in records if isinstance(record, FeatureLevelRecord)}
