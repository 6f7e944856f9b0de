"""The files to dump: their kinds, their bytes, and the files beside them."""

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

BOOTSTRAP: Final = "bootstrap.checkpoint"
_OFFSET: Final = re.compile(r"[+-]?[0-9]{1,20}")


class FileKind(Enum):
    """The kind of a file, by its extension. The values are the names in JSON."""

    LOG = "log"
    SNAPSHOT = "snapshot"
    OFFSET_INDEX = "offset-index"
    TIME_INDEX = "time-index"
    PRODUCER_SNAPSHOT = "producer-snapshot"
    TRANSACTION_INDEX = "transaction-index"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DumpSource:
    """One file. `path` is as given, with slashes as Java's File has them."""

    disk: "Disk"
    path: str
    absolute: str

    @property
    def name(self) -> str:
        """File name without its directory."""
        return self.path.rpartition("/")[2]

    @property
    def kind(self) -> FileKind:
        """Kind by the extension, as in the tool."""
        _, dot, extension = self.name.rpartition(".")
        return _KINDS.get(dot + extension, FileKind.UNKNOWN)

    @property
    def base_offset(self) -> int:
        """Offset that the name begins with. Raises CorruptFileError if it begins with none."""
        stem = self.name.partition(".")[0]
        if not _OFFSET.fullmatch(stem):
            raise CorruptFileError("file name does not begin with an offset", offset=0, file=self.path)
        return int(stem)

    @property
    def snapshot_id(self) -> SnapshotId:
        """Id in the name of a metadata snapshot. Raises CorruptFileError."""
        parsed = parse_snapshot_name(self.name)
        if parsed is None:
            reason = f"file name is neither that of a snapshot (END_OFFSET-EPOCH.checkpoint) nor {BOOTSTRAP}"
            raise CorruptFileError(reason, offset=0, file=self.path)
        return parsed.id

    def view(self) -> memoryview:
        """Return the file's bytes. Raises OSError."""
        return self.disk.view(self.path)

    def beside(self, extension: str) -> DumpSource:
        """Return the file of the same segment with another extension."""
        directory, slash, name = self.path.rpartition("/")
        path = f"{directory}{slash}{name.partition('.')[0]}{extension}"
        return DumpSource(self.disk, path, path)


def dump_source(disk: Disk, path: str, absolute: Callable[[str], str]) -> DumpSource:
    """Make the source of a path; `absolute` makes a path absolute."""
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
