"""The `meta.properties` of all of a node's log directories together (Kafka's MetaPropertiesEnsemble)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from falkirk.protocol.uuid import is_reserved_uuid, random_uuid, uuid_text
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.meta_properties import FILE_NAME, MetaProperties, parse_meta_properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDirectories:
    """A node's log directories by path, in order: formatted, empty (or missing), and unreadable ones."""

    formatted: "Mapping[str, MetaProperties]"
    empty: tuple[str, ...]
    unreadable: "Mapping[str, str]"

    def reason_refused(self, *, cluster_id: str | None, node_id: int) -> str | None:
        """Return which directory is another cluster's or node's, or has an impossible id; None if there is none.

        `cluster_id`: None for that of the first directory that has one.
        """
        seen: dict[bytes, str] = {}
        for path, meta in self.formatted.items():
            file = f"{path}/{FILE_NAME}"
            cluster_id = cluster_id or meta.cluster_id
            if meta.cluster_id not in (None, cluster_id):
                return f"Invalid cluster.id in: {file}. Expected {cluster_id}, but read {meta.cluster_id}"
            if meta.node_id not in (None, node_id):
                return (
                    f"Stored node id {meta.node_id} doesn't match previous node id {node_id} in {file}. If you moved "
                    "your data, make sure your configured node id matches. If you intend to create a new node, you "
                    "should remove all data in your data directories."
                )
            if meta.directory_id is not None:
                reason = _reason_id_refused(meta.directory_id, path, seen)
                if reason is not None:
                    return reason
        return None

    def new_directory_id(self, random: Chance) -> bytes:
        """Return a random id that no directory here has."""
        used = {meta.directory_id for meta in self.formatted.values()}
        while (made := random_uuid(random)) in used:
            pass
        return made


def read_node_directories(disk: Disk, paths: Iterable[str]) -> NodeDirectories:
    """Read the directories; a path is named once."""
    formatted: dict[str, MetaProperties] = {}
    empty: list[str] = []
    unreadable: dict[str, str] = {}
    for path in sorted(set(paths)):
        file = f"{path}/{FILE_NAME}"
        try:
            formatted[path] = parse_meta_properties(disk.read(file), file=file)
        except FileNotFoundError:
            empty.append(path)
        except CorruptFileError as error:
            unreadable[path] = str(error)
        except OSError as os_error:
            unreadable[path] = f"{file}: {os_error.strerror}"
    return NodeDirectories(formatted=formatted, empty=tuple(empty), unreadable=unreadable)


def _reason_id_refused(directory_id: bytes, path: str, seen: dict[bytes, str]) -> str | None:
    text = uuid_text(directory_id)
    if is_reserved_uuid(directory_id):
        return f"Invalid reserved directory ID {text} found in {path}"
    if directory_id in seen:
        return f"Duplicate directory ID {text} found. It was the ID of {seen[directory_id]}, but also of {path}"
    seen[directory_id] = path
    return None
