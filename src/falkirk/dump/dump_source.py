"""The files to be dumped: of which kind each is, and how to get at its bytes and those of the files beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.storage.errors import CorruptFileError
from falkirk.storage.snapshot_file import SnapshotId, parse_snapshot_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.storage.disk import Disk


class FileKind(Enum):
    """What a file's extension says. The values are how JSON names the kinds."""

    LOG = "log"
    SNAPSHOT = "snapshot"
    OFFSET_INDEX = "offset-index"
    TIME_INDEX = "time-index"
    PRODUCER_SNAPSHOT = "producer-snapshot"
    TRANSACTION_INDEX = "transaction-index"
    UNKNOWN = "unknown"


BOOTSTRAP: Final = "bootstrap.checkpoint"


@dataclass(frozen=True, slots=True)
class DumpSource:
    """One file. `path` is as it was given, with slashes as Java's File has them."""

    disk: Disk
    path: str
    absolute: str

    @property
    def name(self) -> str:
        """Give the file's name without its directory."""
        return self.path.rpartition("/")[2]

    @property
    def kind(self) -> FileKind:
        """Give the kind by the extension, as the tool does."""
        _, dot, extension = self.name.rpartition(".")
        return _KINDS.get(dot + extension, FileKind.UNKNOWN)

    @property
    def base_offset(self) -> int:
        """Give the offset that the name begins with. Raises CorruptFileError if it begins with none."""
        stem = self.name.partition(".")[0]
        if not _OFFSET.fullmatch(stem):
            raise CorruptFileError("file name does not begin with an offset", offset=0, file=self.path)
        return int(stem)

    @property
    def snapshot_id(self) -> SnapshotId:
        """Give what the name of a metadata snapshot says. Raises CorruptFileError."""
        parsed = parse_snapshot_name(self.name)
        if parsed is None:
            reason = f"file name is neither that of a snapshot (END_OFFSET-EPOCH.checkpoint) nor {BOOTSTRAP}"
            raise CorruptFileError(reason, offset=0, file=self.path)
        return parsed.id

    def view(self) -> memoryview:
        """Give the file's bytes. Raises OSError."""
        return self.disk.view(self.path)

    def beside(self, extension: str) -> DumpSource:
        """Give the file of the same segment with another extension."""
        directory, slash, name = self.path.rpartition("/")
        path = f"{directory}{slash}{name.partition('.')[0]}{extension}"
        return DumpSource(self.disk, path, path)


def dump_source(disk: Disk, path: str, absolute: Callable[[str], str]) -> DumpSource:
    """Take a path as it was given; `absolute` makes it so."""
    normal = re.sub(r"/+", "/", path)
    normal = normal.rstrip("/") or normal[:1]
    return DumpSource(disk, normal, absolute(normal))


_KINDS: Final = {
    ".log": FileKind.LOG,
    ".checkpoint": FileKind.SNAPSHOT,
    ".index": FileKind.OFFSET_INDEX,
    ".timeindex": FileKind.TIME_INDEX,
    ".snapshot": FileKind.PRODUCER_SNAPSHOT,
    ".txnindex": FileKind.TRANSACTION_INDEX,
}
_OFFSET: Final = re.compile(r"[+-]?[0-9]{1,20}")
