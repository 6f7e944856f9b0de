"""Metadata logs and snapshots of real Kafka, as batches for the metadata layer."""

import gzip
import io
import json
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from falkirk.metadata.image.metadata_image import MetadataImage, Provenance
from falkirk.metadata.publishing.loader import MetadataLoader
from falkirk.metadata.records.batch import MetadataBatch
from falkirk.protocol.json_form import to_json
from falkirk.protocol.record_batch import RecordBatch
from falkirk.protocol.schema import WireMessage
from falkirk.storage.segment import SegmentReader, parse_segment_file
from falkirk.storage.snapshot_file import parse_snapshot_name, read_snapshot

DATA = Path(__file__).parent.parent / "data" / "metadata"
CLUSTERS = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")


@dataclass(frozen=True)
class MetadataDirectory:
    """One `__cluster_metadata-0`: contents of its logs and snapshots by file name."""

    logs: dict[str, bytes]
    snapshots: dict[str, bytes]

    def log_batches(self) -> Iterator[MetadataBatch]:
        for name, data in sorted(self.logs.items()):
            file = parse_segment_file(name)
            assert file is not None
            for batch in SegmentReader(data, file=name, base_offset=file.base_offset, contiguous=True):
                yield as_batch(batch, name)

    def snapshot(self, name: str) -> MetadataImage:
        return load_snapshot(self.snapshots[name], name)


@cache
def archive(name: str) -> dict[str, bytes]:
    """Return all files of a tar archive by path."""
    with tarfile.open(fileobj=io.BytesIO((DATA / name).read_bytes())) as tar:
        found = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isfile()}
        return {path: file.read() for path, file in found.items() if file is not None}


def directories(name: str) -> dict[str, MetadataDirectory]:
    """Return the metadata partitions in an archive by their parent's path."""
    found: dict[str, MetadataDirectory] = {}
    for path, data in archive(name).items():
        pure = PurePosixPath(path)
        directory = found.setdefault(pure.parent.parent.as_posix(), MetadataDirectory({}, {}))
        (directory.logs if pure.suffix == ".log" else directory.snapshots)[pure.name] = data
    return found


def json_file(name: str) -> Any:
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


def as_batch(batch: RecordBatch, source: str) -> MetadataBatch:
    return MetadataBatch(
        base_offset=batch.base_offset,
        end_offset=batch.end_offset,
        epoch=batch.leader_epoch,
        timestamp=batch.max_timestamp,
        values=() if batch.is_control else batch.values(),
        source=source,
    )


def snapshot_batches(data: bytes, name: str) -> list[MetadataBatch]:
    return [as_batch(batch, name) for batch in read_snapshot(data, file=name).data_batches]


def load_snapshot(data: bytes, name: str) -> MetadataImage:
    snapshot, file = read_snapshot(data, file=name), parse_snapshot_name(name)
    assert file is not None
    provenance = Provenance(file.id.end_offset, file.id.epoch, snapshot.last_contained_log_timestamp)
    return MetadataLoader().load_snapshot(snapshot_batches(data, name), provenance)


def load_log(batches: Iterable[MetadataBatch]) -> MetadataImage:
    return MetadataLoader().load_log(batches)


def batch_of(values: list[bytes], base_offset: int = 0, source: str | None = None) -> MetadataBatch:
    return MetadataBatch(
        base_offset=base_offset,
        end_offset=base_offset + len(values),
        epoch=1,
        timestamp=1000 + base_offset,
        values=values,
        source=source,
    )


def canonical(record: WireMessage, version: int) -> tuple[str, int, str]:
    """Return a record in a form that is equal for equal content, whatever the order of its listeners and features."""
    return canonical_json(type(record).__name__, version, to_json(record, version))


def canonical_json(name: str, version: int, fields: Any) -> tuple[str, int, str]:
    fields = dict(fields)
    for field, key in (("endPoints", "name"), ("features", "name"), ("entity", "entityType")):
        if field in fields:
            fields[field] = sorted(fields[field], key=lambda item, key=key: item[key])
    return name, version, json.dumps(fields, sort_keys=True)
