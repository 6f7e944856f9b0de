"""Logs for the bulk readers: files that real Kafka wrote, and strategies for metadata and coordinator records."""

import io
import tarfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from message_strategies import message_strategy
from metadata_files import archive
from storage_files import LOGS, SNAPSHOTS, label

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.coordinator_record import encode_key, encode_value
from falkirk.protocol.messages import (
    GROUP_COORDINATOR_KEYS,
    GROUP_COORDINATOR_VALUES,
    METADATA_RECORDS,
    message_class,
)
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.protocol.record import Record

DATA = Path(__file__).parent.parent / "data"
RELEASES = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
METADATA_ARCHIVES = sorted(path.name for path in (DATA / "metadata").glob("*.tar.gz"))
ARCHIVES = ("storage", *sorted(path.relative_to(DATA).as_posix() for path in DATA.rglob("*.tar.gz")), "dump/files.zip")


@cache
def data_files() -> dict[str, bytes]:
    """Segments and snapshots of all kinds, with all codecs."""
    return {label(path): path.read_bytes() for path in (*LOGS, *SNAPSHOTS)}


@cache
def metadata_files() -> dict[str, bytes]:
    """Metadata logs and snapshots, the files of each archive concatenated: five releases, every level."""
    found = {}
    for name in METADATA_ARCHIVES:
        files = [data for path, data in archive(name).items() if path.endswith((".log", ".checkpoint")) and data]
        found[name] = b"".join(files)
    return found


@cache
def consumer_offsets_files() -> dict[str, bytes]:
    """Segments of `__consumer_offsets` by release, all partitions concatenated."""
    found: dict[str, bytes] = {}
    for release in RELEASES:
        files = _files(f"clusters/{release}.tar.gz")
        found[release] = b"".join(data for path, data in files.items() if "/__consumer_offsets-" in path)
    return found


@cache
def all_files() -> dict[str, bytes]:
    """Every distinct log and snapshot in tests/data."""
    paths = {data: f"{name}/{path}" for name in ARCHIVES for path, data in _files(name).items()}
    return {path: data for data, path in paths.items()}


@cache
def _files(name: str) -> dict[str, bytes]:
    if name == "storage":
        found = data_files()
    elif name.endswith(".zip"):
        with zipfile.ZipFile(DATA / name) as packed:
            found = {path: packed.read(path) for path in packed.namelist()}
    else:
        with tarfile.open(fileobj=io.BytesIO((DATA / name).read_bytes())) as tar:
            files = {member.name: tar.extractfile(member) for member in tar.getmembers() if member.isfile()}
            found = {path: file.read() for path, file in files.items() if file is not None}
    return {path: data for path, data in found.items() if data and path.endswith((".log", ".checkpoint"))}


def metadata_values(names: list[str] | None = None) -> st.SearchStrategy[tuple[Any, int]]:
    """A metadata record of any version, and the version."""
    cases = []
    for name in names or METADATA_RECORDS.values():
        cls = message_class(name)
        cases += [(cls, version) for version in cls.SCHEMA.info.versions]
    return st.sampled_from(cases).flatmap(
        lambda case: st.tuples(message_strategy(case[0], case[1], None), st.just(case[1]))
    )


def log_of(values: list[bytes | None], *, keys: list[bytes | None] | None = None, **arguments: Any) -> bytes:
    """One batch of these values, offsets from 0 on."""
    pairs = zip(keys or [None] * len(values), values, strict=True)
    records = [Record(offset, 1000, key, value) for offset, (key, value) in enumerate(pairs)]
    return build_batch(records, **{"base_offset": 0, **arguments})


@st.composite
def metadata_logs(draw: st.DrawFn, names: list[str] | None = None) -> bytes:
    """A few batches of metadata records; some batches are compressed, as no metadata log's are."""
    out = b""
    offset = draw(st.integers(0, 1 << 40))
    for _ in range(draw(st.integers(1, 3))):
        drawn = draw(st.lists(metadata_values(names), min_size=1, max_size=12))
        values = [encode_metadata_record(record, version) for record, version in drawn]
        records = [Record(offset + index, 7, None, value) for index, value in enumerate(values)]
        codec = draw(st.sampled_from([Compression.NONE, Compression.NONE, Compression.LZ4]))
        out += build_batch(records, base_offset=offset, leader_epoch=draw(st.integers(0, 9)), compression=codec)
        offset += len(records)
    return out


@st.composite
def group_records(draw: st.DrawFn) -> tuple[bytes, bytes | None]:
    """Key and value of a group coordinator's record; offset commits, and tombstones of all kinds, are frequent."""
    types = sorted(GROUP_COORDINATOR_KEYS)
    type_ = draw(st.one_of(st.sampled_from([0, 1, 1, 1]), st.sampled_from(types)))
    key_class = message_class(GROUP_COORDINATOR_KEYS[type_])
    key = draw(message_strategy(key_class, key_class.SCHEMA.info.versions.ranges[0][0], None))
    if draw(st.integers(0, 5)) == 0:
        return encode_key(key), None
    value_class = message_class(GROUP_COORDINATOR_VALUES[type_])
    version = draw(st.sampled_from(list(value_class.SCHEMA.info.versions)))
    return encode_key(key), encode_value(draw(message_strategy(value_class, version, None)), version)
