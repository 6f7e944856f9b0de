"""The log directories of a node as it starts: whose they are, and how the metadata log begins.

Everything is looked at before anything is written, so that a directory of somebody else stays as it was. Texts and
their order are those of MetaPropertiesEnsemble and KafkaRaftServer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.node.errors import StartupError
from falkirk.protocol.uuid import random_uuid, uuid_text
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.meta_properties import (
    FILE_NAME,
    MetaProperties,
    format_meta_properties,
    parse_meta_properties,
    with_directory_id,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.config import NodeConfig
    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk

METADATA_PARTITION: Final = "__cluster_metadata-0"

# Ids 0 to 99 have meanings of their own: unassigned, lost, migrating. Source: DirectoryId (KIP-858).
_RESERVED_IDS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectories:
    """What the directories say. `directory_ids` has every directory that is there, by path."""

    cluster_id: str
    directory_ids: Mapping[str, bytes]
    metadata_directory_id: bytes
    # meta.properties of directories that get an id now, by path.
    _rewritten: Mapping[str, MetaProperties]

    def write_ids(self, disk: Disk) -> None:
        """Write the ids that directories had not. Raises OSError."""
        for path, properties in self._rewritten.items():
            disk.write(f"{path}/{FILE_NAME}", [format_meta_properties(properties)])


def open_log_directories(config: NodeConfig, disk: Disk, random: Chance) -> LogDirectories:
    """Look at all log directories; nothing is written. Raises StartupError."""
    paths = sorted({*config.log_dirs, config.metadata_log_dir})
    found = {path: _read(disk, path) for path in paths}
    formatted = {path: meta for path, meta in found.items() if meta is not None}
    if not formatted:
        raise StartupError("No readable meta.properties files found.")
    _verify(formatted, config.node_id)
    for path in formatted:
        misplaced = f"{path}/{METADATA_PARTITION}"
        if path != config.metadata_log_dir and disk.exists(misplaced):
            raise StartupError(
                f"Found unexpected metadata location in data directory `{misplaced}` "
                f"(the configured metadata directory is {config.metadata_log_dir})."
            )
    for path, meta in found.items():
        if meta is None:
            raise StartupError(
                f"No `meta.properties` found in {path} (have you run `kafka-storage.sh` to format the directory?)"
            )
    return _with_ids(formatted, config, random)


def _read(disk: Disk, path: str) -> MetaProperties | None:
    file = f"{path}/{FILE_NAME}"
    try:
        return parse_meta_properties(disk.read(file), file=file)
    except FileNotFoundError:
        return None
    except CorruptFileError as error:
        raise StartupError(str(error)) from error
    except OSError as error:
        raise StartupError(f"Unable to read {file}: {error}") from error


def _verify(formatted: Mapping[str, MetaProperties], node_id: int) -> None:
    cluster_id: str | None = None
    seen: dict[bytes, str] = {}
    for path, meta in formatted.items():
        file = f"{path}/{FILE_NAME}"
        if meta.node_id is None:
            raise StartupError(f"Error: node ID not found in {path}")
        if meta.cluster_id is None:
            raise StartupError(f"Error: cluster ID not found in {path}")
        cluster_id = cluster_id or meta.cluster_id
        if meta.cluster_id != cluster_id:
            raise StartupError(f"Invalid cluster.id in: {file}. Expected {cluster_id}, but read {meta.cluster_id}")
        if meta.node_id != node_id:
            raise StartupError(
                f"Stored node id {meta.node_id} doesn't match previous node id {node_id} in {file}. If you moved your "
                "data, make sure your configured node id matches. If you intend to create a new node, you should "
                "remove all data in your data directories."
            )
        if meta.directory_id is not None:
            _verify_directory_id(meta.directory_id, path, seen)


def _verify_directory_id(directory_id: bytes, path: str, seen: dict[bytes, str]) -> None:
    text = uuid_text(directory_id)
    if int.from_bytes(directory_id, "big") < _RESERVED_IDS:
        raise StartupError(f"Invalid reserved directory ID {text} found in {path}")
    if directory_id in seen:
        raise StartupError(
            f"Duplicate directory ID {text} found. It was the ID of {seen[directory_id]}, but also of {path}"
        )
    seen[directory_id] = path


def _with_ids(formatted: Mapping[str, MetaProperties], config: NodeConfig, random: Chance) -> LogDirectories:
    ids: dict[str, bytes] = {}
    rewritten: dict[str, MetaProperties] = {}
    for path, meta in formatted.items():
        directory_id = meta.directory_id
        if directory_id is None:
            directory_id = random_uuid(random)
            rewritten[path] = with_directory_id(meta, directory_id)
        ids[path] = directory_id
    cluster_id = formatted[config.metadata_log_dir].cluster_id
    assert cluster_id is not None, "verified"
    return LogDirectories(
        cluster_id=cluster_id,
        directory_ids=ids,
        metadata_directory_id=ids[config.metadata_log_dir],
        _rewritten=rewritten,
    )
