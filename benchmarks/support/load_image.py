"""The image of a snapshot file, loaded as our tools load it."""

import gc
from pathlib import Path

from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.storage.snapshot_file import parse_snapshot_name, read_snapshot


def load_image(path: Path) -> MetadataImage:
    found = parse_snapshot_name(path.name)
    assert found is not None
    # An image has no cycles; looking for some while it grows costs an eighth of the time.
    gc.disable()
    snapshot = read_snapshot(path.read_bytes(), file=path.name)
    batches = (
        MetadataBatch(
            base_offset=batch.base_offset,
            end_offset=batch.end_offset,
            epoch=batch.leader_epoch,
            timestamp=batch.max_timestamp,
            values=batch.values(),
            source=path.name,
        )
        for batch in snapshot.data_batches
    )
    provenance = Provenance(found.id.end_offset, found.id.epoch, snapshot.last_contained_log_timestamp)
    image = MetadataLoader().load_snapshot(batches, provenance)
    gc.enable()
    return image
