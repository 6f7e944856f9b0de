"""Writing an image as a snapshot of the log, a piece in each slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.levels.writer import WriterOptions, write_values
from falkirk.node.sliced_work import WorkCancelledError

if TYPE_CHECKING:
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.sliced_work import Slices
    from falkirk.node.step import Step
    from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
    from falkirk.raft.replica import RaftReplica
    from falkirk.storage.metadata_log import MetadataLog
    from falkirk.storage.snapshot_creation import SnapshotCreation


def begin_snapshot(
    snapshot: OffsetAndEpoch,
    image: MetadataImage,
    step: Step,
    log: MetadataLog,
    raft: RaftReplica,
    *,
    is_provisional: bool = False,
) -> SnapshotCreation | None:
    """Begin the snapshot of an image at the image's own level; None as `MetadataLog.begin_snapshot` has it."""
    version, now_ms = image.features.metadata_version, step.now_ms
    assert version is not None, "an image without a level has no snapshot"
    kraft_version, voters = raft.voters_before(snapshot.offset)
    return log.begin_snapshot(
        snapshot,
        write_values(image, WriterOptions(metadata_version=version)),
        level=version.level,
        kraft_version=kraft_version,
        voters=voters,
        last_contained_log_timestamp=image.provenance.timestamp,
        clock=lambda: now_ms,
        is_provisional=is_provisional,
    )


def write_slices(creation: SnapshotCreation) -> Slices:
    """Write a snapshot, a piece in each slice; nothing of it is left if the work is cancelled. Raises OSError."""
    try:
        while not creation.step():
            yield
    except WorkCancelledError:
        creation.abandon()
        raise
