"""The image of a snapshot file, loaded as our tools load it."""

import gc
from pathlib import Path

from falkirk.columnar.metadata_values import metadata_values
from falkirk.metadata.batch import MetadataBatch
from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.storage.snapshot_file import parse_snapshot_name, read_snapshot


def load_image(path: Path) -> MetadataImage:
    found = parse_snapshot_name(path.name)
    assert found is not None
    # An image has no cycles; looking for some while it grows costs an eighth of the time.
    gc.disable()
    data = path.read_bytes()
    snapshot = read_snapshot(data, file=path.name)
    batches = (
        MetadataBatch(
            base_offset=part.base_offset,
            end_offset=part.end_offset,
            epoch=part.epoch,
            timestamp=part.timestamp,
            values=part.values,
            source=path.name,
        )
        for part in metadata_values(data, check_crc=False)  # the line above has checked it
    )
    provenance = Provenance(found.id.end_offset, found.id.epoch, snapshot.last_contained_log_timestamp)
    image = MetadataLoader().load_snapshot(batches, provenance)
    gc.enable()
    return image
