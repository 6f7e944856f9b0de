"""The undo bundle: everything that a downgrade dropped or wrote in another form, as the bytes of one zip file.

`bundle.json` has the levels before and after; `objects.jsonl` has, for each object that lost something, its record
before and as it was written; `groups/<partition>.json` lists the records removed from a coordinator partition, and
`groups/<partition>.batches` has the batches that held them, as they were. Records are hex of frame and body.
Equal bundles are equal bytes.
"""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from falkirk.metadata.records.errors import MetadataError
from falkirk.protocol import codec
from falkirk.protocol.errors import RemoteProtocolError
from falkirk.protocol.messages import VotersRecord
from falkirk.protocol.metadata_record import decode_metadata_record, encode_metadata_record
from falkirk.protocol.record_batch import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from falkirk.protocol.schema import WireMessage

FORMAT: Final = 1
# How large a bundle may be, as a file and uncompressed: some millions of objects.
BUNDLE_BYTES_MAX: Final = 2 << 30

# What reading a file that is no zip, or a damaged one, can end in (NotImplementedError: compressed in a way of others).
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    NotImplementedError,
    RuntimeError,
    msgspec.MsgspecError,
    RemoteProtocolError,
)


class BundleFormatError(MetadataError):
    """Bytes that are no undo bundle, or of a format that this falkirk does not read."""


class KeptTag(NamedTuple):
    """An unknown tagged field: the type of the record that held it, the struct in it, tag and data.

    The struct is "" for the record itself, and named (`endPoints[EXTERNAL]`) where the name is known, not counted: an
    image keeps listeners, features and quota entities by name and not in the order of the record that brought them.
    """

    record: str
    path: str
    tag: int
    data: bytes

    @property
    def place(self) -> str:
        """The field as a phrase for the operator."""
        return f"tag {self.tag} of {self.record}{f' {self.path}' if self.path else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedBatch:
    """A batch of a coordinator partition as it was, and the offsets of the records that are removed from it."""

    data: bytes
    offsets: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectChange:
    """An object's record as it was, and as the target got it (None: not at all), each with its record version.

    `unknown_tags` are tagged fields of its records that no release knows.
    """

    kind: str
    key: str
    before: "tuple[WireMessage, int] | None"
    written: "tuple[WireMessage, int] | None"
    unknown_tags: tuple[KeptTag, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Everything that undo needs besides the directories.

    `offset`: where a running cluster's metadata log has the change; -1: nodes were stopped for it, or it is not known.
    """

    cluster_id: str
    level_before: int
    level_after: int
    release_after: str
    features_before: dict[str, int]
    kraft_version_before: int
    kraft_version_after: int
    voters: VotersRecord | None
    objects: tuple[ObjectChange, ...]
    # Name of the partition's directory -> what was taken out of it.
    groups: dict[str, tuple[RemovedBatch, ...]]
    # Name of the partition's directory -> offsets of tombstones that were put at its end.
    tombstones: dict[str, frozenset[int]] = field(default_factory=dict)
    offset: int = -1


class _Head(msgspec.Struct, omit_defaults=True):
    format: int
    cluster_id: str
    level_before: int
    level_after: int
    release_after: str
    features_before: dict[str, int]
    kraft_version_before: int
    kraft_version_after: int
    voters: str | None
    # How many lines objects.jsonl has, and of which partitions there are records.
    objects: int
    groups: list[str]
    tombstones: dict[str, list[int]] = {}
    offset: int = -1


class _ObjectLine(msgspec.Struct, omit_defaults=True):
    kind: str
    key: str
    before: str | None
    written: str | None
    unknown_tags: list[tuple[str, str, int, str]] = []


def format_bundle(bundle: Bundle) -> bytes:
    """Encode a bundle as the bytes of a zip file."""
    writer = BundleWriter()
    return writer.add(bundle.objects) + writer.finish(bundle, len(bundle.objects))


class BundleWriter:
    """Encodes a bundle piece by piece: each call returns the bytes to append to the file.

    An object may be added again: what was added last counts. One with nothing before, nothing written and no tags takes
    back what was added before.
    """

    def __init__(self) -> None:
        self._pieces = _Pieces()
        self._zip = zipfile.ZipFile(self._pieces, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._objects = self._zip.open("objects.jsonl", "w", force_zip64=True)

    def add(self, changes: Iterable[ObjectChange]) -> bytes:
        """Add objects."""
        for change in changes:
            self._objects.write(msgspec.json.encode(_line_of(change)) + b"\n")
        return self._pieces.pop()

    def finish(self, bundle: Bundle, object_count: int) -> bytes:
        """Add all but the objects of `bundle`, of which `object_count` were added; the file is complete then."""
        self._objects.close()
        head = _Head(
            format=FORMAT,
            cluster_id=bundle.cluster_id,
            level_before=bundle.level_before,
            level_after=bundle.level_after,
            release_after=bundle.release_after,
            features_before=bundle.features_before,
            kraft_version_before=bundle.kraft_version_before,
            kraft_version_after=bundle.kraft_version_after,
            voters=None if bundle.voters is None else codec.encode(bundle.voters, 0).hex(),
            objects=object_count,
            groups=list(bundle.groups),
            tombstones={name: sorted(offsets) for name, offsets in bundle.tombstones.items()},
            offset=bundle.offset,
        )
        _write(self._zip, "bundle.json", [msgspec.json.format(msgspec.json.encode(head), indent=2)])
        for name, removed in bundle.groups.items():
            offsets = [offset for batch in removed for offset in sorted(batch.offsets)]
            _write(self._zip, f"groups/{name}.json", [msgspec.json.encode({"offsets": offsets})])
            _write(self._zip, f"groups/{name}.batches", (batch.data for batch in removed))
        self._zip.close()
        return self._pieces.pop()


class _Pieces:
    """A file that cannot be sought: what is written to it is popped."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Do nothing: what is left is popped."""

    def pop(self) -> bytes:
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def parse_bundle(data: bytes) -> Bundle:
    """Decode the bytes of a bundle. Raises BundleFormatError that says what is wrong."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as file:
            return _read(file)
    except _DAMAGE as error:
        raise BundleFormatError(f"not an undo bundle, or a damaged one: {error}") from error


def _write(file: zipfile.ZipFile, name: str, chunks: Iterable[bytes]) -> None:
    # `writestr` would ask the clock for a date.
    with file.open(name, "w") as entry:
        for chunk in chunks:
            entry.write(chunk)


def _read(file: zipfile.ZipFile) -> Bundle:
    # A deflated entry may hold a thousand times its size; no more than what is declared is read.
    size = sum(entry.file_size for entry in file.infolist())
    if size > BUNDLE_BYTES_MAX:
        raise BundleFormatError(f"{size} bytes uncompressed, a bundle has at most {BUNDLE_BYTES_MAX}")
    head = msgspec.json.decode(file.read("bundle.json"), type=_Head)
    if head.format != FORMAT:
        raise BundleFormatError(f"bundle format {head.format}, this falkirk reads {FORMAT}")
    objects = _last(_read_objects(file.read("objects.jsonl")))
    if len(objects) != head.objects:
        raise BundleFormatError(f"{len(objects)} objects where {head.objects} were written")
    return Bundle(
        cluster_id=head.cluster_id,
        level_before=head.level_before,
        level_after=head.level_after,
        release_after=head.release_after,
        features_before=head.features_before,
        kraft_version_before=head.kraft_version_before,
        kraft_version_after=head.kraft_version_after,
        voters=None if head.voters is None else codec.decode(VotersRecord, 0, bytes.fromhex(head.voters)),
        objects=objects,
        groups={name: _read_group(file, name) for name in head.groups},
        tombstones={name: frozenset(offsets) for name, offsets in head.tombstones.items()},
        offset=head.offset,
    )


def _read_group(file: zipfile.ZipFile, name: str) -> tuple[RemovedBatch, ...]:
    listed: dict[str, Any] = msgspec.json.decode(file.read(f"groups/{name}.json"))  # Any: JSON
    offsets = frozenset(listed["offsets"])
    return tuple(
        RemovedBatch(
            data=bytes(batch.data),
            offsets=frozenset(record.offset for record in batch.records()) & offsets,
        )
        for batch in read_batches(file.read(f"groups/{name}.batches"))
    )


def _line_of(change: ObjectChange) -> _ObjectLine:
    return _ObjectLine(
        kind=change.kind,
        key=change.key,
        before=_hex(change.before),
        written=_hex(change.written),
        unknown_tags=[(*kept[:3], kept.data.hex()) for kept in change.unknown_tags],
    )


def _hex(record: tuple[WireMessage, int] | None) -> str | None:
    return None if record is None else encode_metadata_record(*record).hex()


def _read_objects(data: bytes) -> Iterator[ObjectChange]:
    decoder = msgspec.json.Decoder(_ObjectLine)
    for text in data.splitlines():
        line = decoder.decode(text)
        yield ObjectChange(
            kind=line.kind,
            key=line.key,
            before=_record(line.before),
            written=_record(line.written),
            unknown_tags=tuple(
                KeptTag(record, path, tag, bytes.fromhex(data)) for record, path, tag, data in line.unknown_tags
            ),
        )


def _last(changes: Iterable[ObjectChange]) -> tuple[ObjectChange, ...]:
    """Return of each object what was added last; see BundleWriter."""
    found: dict[str, ObjectChange] = {}
    for change in changes:
        if change.before is None and change.written is None and not change.unknown_tags:
            found.pop(change.key, None)
        else:
            found[change.key] = change
    return tuple(found.values())


def _record(text: str | None) -> tuple[WireMessage, int] | None:
    return None if text is None else decode_metadata_record(bytes.fromhex(text))
