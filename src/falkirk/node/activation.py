"""What a controller appends before it serves: a new cluster's first records, the end of what was left half done.

Source: ActivationRecordsGenerator; KIP-778, KIP-868.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.controller.result import ControllerResult
from falkirk.metadata.image.metadata_image import EMPTY
from falkirk.metadata.writer import VersionedRecord
from falkirk.protocol.messages import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    ZkMigrationStateRecord,
)

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.bootstrap import BootstrapMetadata


def activation_records(
    image: MetadataImage, bootstrap: BootstrapMetadata, *, open_transaction_offset: int | None
) -> ControllerResult[None]:
    """Give the records. `image` is that at the log's end, without what an open transaction holds back."""
    records: list[VersionedRecord] = []
    if open_transaction_offset is not None:
        records.append(VersionedRecord(AbortTransactionRecord(reason="Controller failover"), 0))
    if not image.has_same_content(EMPTY):
        return ControllerResult(tuple(records), None)
    version = bootstrap.metadata_version
    in_transaction = version.metadata_transaction_supported
    if in_transaction:
        records.append(VersionedRecord(BeginTransactionRecord(name="Bootstrap records"), 0))
    records += bootstrap.records
    if version.migration_supported:
        records.append(VersionedRecord(ZkMigrationStateRecord(0), 0))
    if in_transaction:
        records.append(VersionedRecord(EndTransactionRecord(), 0))
    return ControllerResult(tuple(records), None, is_atomic=not in_transaction)
