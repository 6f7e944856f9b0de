"""The report of `kafka-storage info` on a node's log directories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.uuid import uuid_text
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.meta_properties import FILE_NAME, MetaProperties, parse_meta_properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageInfo:
    """The directories found, the first readable meta.properties, and the problems."""

    found: tuple[str, ...]
    metadata: "Mapping[str, str] | None"
    problems: tuple[str, ...]

    def text(self) -> Iterator[str]:
        """Yield the lines of Kafka's tool."""
        if self.found:
            yield "Found log directory:" if len(self.found) == 1 else "Found log directories:"
            yield from (f"  {path}" for path in self.found)
            yield ""
        if self.metadata is not None:
            yield f"Found metadata: {{{', '.join(f'{key}={value}' for key, value in self.metadata.items())}}}"
            yield ""
        if self.problems:
            yield "Found problem:" if len(self.problems) == 1 else "Found problems:"
            yield from (f"  {problem}" for problem in self.problems)
            yield ""

    def document(self) -> object:
        """Return the same as a JSON document."""
        return {"directories": self.found, "metadata": self.metadata, "problems": self.problems}


def storage_info(disk: Disk, directories: Iterable[str], *, is_kraft: bool) -> StorageInfo:
    """Read the directories; `is_kraft`: the configuration is that of a node in KRaft mode."""
    survey = _Survey(disk)
    for path in sorted(set(directories)):
        survey.read(path.rstrip("/") or "/")
    first = survey.first
    problems = survey.problems
    if first is not None and is_kraft and first.version == 0:
        problems.append(
            "The kafka configuration file appears to be for a cluster in KRaft mode, but the directories are "
            "formatted for legacy mode."
        )
    elif first is not None and not is_kraft and first.version == 1:
        problems.append(
            "The kafka configuration file appears to be for a legacy cluster, but the directories are formatted for a "
            "cluster in KRaft mode."
        )
    return StorageInfo(
        found=tuple(survey.found),
        metadata=None if first is None else dict(sorted(_known_properties(first).items())),
        problems=tuple(problems),
    )


class _Survey:
    """Collects the contents and problems of the directories."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self.found: list[str] = []
        self.first: MetaProperties | None = None
        self.problems: list[str] = []

    def read(self, path: str) -> None:
        """Add one directory."""
        if not self._disk.is_directory(path):
            is_there = self._disk.exists(path)
            self.problems.append(f"{path} is not a directory" if is_there else f"{path} does not exist")
            return
        self.found.append(path)
        file = f"{path}/{FILE_NAME}"
        try:
            self._compare(parse_meta_properties(self._disk.read(file), file=file))
        except FileNotFoundError:
            self.problems.append(f"{path} is not formatted.")
        except CorruptFileError as error:
            self.problems.append(f"Error loading {file}: {error.reason}")
        except OSError as os_error:
            self.problems.append(f"Error loading {file}: {os_error.strerror}")

    def _compare(self, meta: MetaProperties) -> None:
        if self.first is None:
            self.first = meta
        elif meta.cluster_id != self.first.cluster_id:
            self.problems.append("Mismatched cluster IDs between storage directories.")
        elif meta.node_id != self.first.node_id:
            self.problems.append("Mismatched node IDs between storage directories.")


def _known_properties(meta: MetaProperties) -> dict[str, str]:
    known = {"version": str(meta.version)}
    if meta.cluster_id is not None:
        known["cluster.id"] = meta.cluster_id
    if meta.node_id is not None:
        known["broker.id" if meta.version == 0 else "node.id"] = str(meta.node_id)
    if meta.directory_id is not None:
        known["directory.id"] = uuid_text(meta.directory_id)
    return known
