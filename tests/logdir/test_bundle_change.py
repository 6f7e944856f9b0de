"""Bundles of changes that were never made, and of changes that are not the latest."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from falkirk.logdir.bundle import BundleError
from falkirk.logdir.bundle_change import check_was_made, later_changes
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.metadata.undo.undo_bundle import Bundle
from falkirk.protocol.messages import BeginTransactionRecord, FeatureLevelRecord, TopicRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage

FILE = Path("/undo/c-40-4.4-IV2-3.7-IV2.zip")
BEFORE, AFTER = MetadataVersion.parse("4.4-IV2"), MetadataVersion.parse("3.7-IV2")


def bundle(offset: int = 40) -> Bundle:
    return Bundle(
        cluster_id="c",
        level_before=BEFORE.level,
        level_after=AFTER.level,
        release_after="3.7",
        features_before={},
        kraft_version_before=0,
        kraft_version_after=0,
        voters=None,
        objects=(),
        groups={},
        offset=offset,
    )


def cluster(*records: WireMessage, end_offset: int = 100, level: MetadataVersion = AFTER) -> Any:
    """Return a cluster whose log has these records from offset 40 on, none: it begins behind them."""
    values = [encode_metadata_record(record, 0) for record in records]
    batches = [MetadataBatch(base_offset=40, end_offset=40 + len(values), epoch=1, timestamp=0, values=values)]
    log = SimpleNamespace(earlier_batches=lambda: iter(batches if values else ()), log_batches=lambda: iter(()))
    image = SimpleNamespace(features=SimpleNamespace(metadata_version=level))
    return SimpleNamespace(log=log, end_offset=end_offset, image=image)


@pytest.mark.parametrize("record", [FeatureLevelRecord("metadata.version", 17), BeginTransactionRecord("t")])
def test_a_change_that_the_log_has_was_made(record: WireMessage) -> None:
    check_was_made(cluster(record), bundle(), FILE)


def test_a_log_that_begins_behind_the_change_does_not_tell() -> None:
    check_was_made(cluster(), bundle(), FILE)


def test_what_nodes_did_while_they_were_stopped_has_no_offset() -> None:
    check_was_made(cluster(end_offset=5), bundle(offset=-1), FILE)


def test_a_change_behind_the_end_of_the_log_was_never_made() -> None:
    with pytest.raises(BundleError, match=r"c-40-.*offset 40 of the metadata log, which ends at 40: it was never made"):
        check_was_made(cluster(end_offset=40), bundle(), FILE)


def test_a_change_in_whose_place_is_something_else_was_never_made() -> None:
    with pytest.raises(BundleError, match=r"offset 40 of the metadata log, which has other records there"):
        check_was_made(cluster(TopicRecord("t", bytes(16))), bundle(), FILE)


def test_a_later_bundle_and_a_later_level_are_named() -> None:
    disk = MemoryDisk()
    disk.make_directory("/undo")
    for name in (FILE.name, "c-39-a-b.zip", "c-41-a-b.zip", "c-100-never.zip", "other-50-a-b.zip", "1.zip.part"):
        disk.append(f"/undo/{name}", b"")
    assert list(later_changes(disk, cluster(), bundle(), FILE)) == [
        "/undo/c-41-a-b.zip is of a later change; what that one dropped is not restored"
    ]
    lowest = MetadataVersion.parse("3.7-IV0")
    assert next(iter(later_changes(disk, cluster(level=lowest), bundle(), FILE))) == (
        "metadata.version is 3.7-IV0 now, and the bundle's change led to 3.7-IV2: it was lowered again since"
    )
