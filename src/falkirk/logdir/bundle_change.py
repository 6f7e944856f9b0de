"""Whether a bundle of a running cluster is of a change that its metadata log has, and whether others came after it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from falkirk.logdir.bundle import BundleError
from falkirk.metadata.records.record_reader import record_type
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falkirk.logdir.cluster import Cluster
    from falkirk.metadata.undo.undo_bundle import Bundle
    from falkirk.storage.disk import Disk

_CHANGES = frozenset({"FeatureLevelRecord", "BeginTransactionRecord"})


def check_was_made(cluster: Cluster, bundle: Bundle, file: Path) -> None:
    """Raise BundleError if the metadata log ends before the bundle's change, or has something else in its place.

    A log that begins after it does not tell: after a lowering nothing from before is left in it.
    """
    if bundle.offset < 0 or cluster.log is None:
        return
    where = f"{file}: its change would be at offset {bundle.offset} of the metadata log"
    never = "it was never made, so there is nothing to undo"
    if bundle.offset >= cluster.end_offset:
        raise BundleError(f"{where}, which ends at {cluster.end_offset}: {never}")
    for batch in (*cluster.log.earlier_batches(), *cluster.log.log_batches()):
        if batch.base_offset <= bundle.offset < batch.end_offset and not _CHANGES.intersection(
            map(record_type, batch.values)
        ):
            raise BundleError(f"{where}, which has other records there: {never}")


def later_changes(disk: Disk, cluster: Cluster, bundle: Bundle, file: Path) -> Iterator[str]:
    """Yield a sentence for each sign that the bundle's change is not the latest."""
    now = cluster.image.features.metadata_version
    if now is not None and now.level < bundle.level_after:
        after = MetadataVersion.of_level(bundle.level_after)
        yield f"metadata.version is {now} now, and the bundle's change led to {after}: it was lowered again since"
    if bundle.offset < 0:
        return
    name = re.compile(rf"{re.escape(bundle.cluster_id)}-([0-9]+)-.*\.zip")
    for other in sorted(disk.list(str(file.parent))):
        found = name.fullmatch(other)
        if found is not None and bundle.offset < int(found[1]) < cluster.end_offset:
            yield f"{file.parent / other} is of a later change; what that one dropped is not restored"
