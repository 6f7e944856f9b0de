"""The log directories of a starting node: their cluster and node, which are offline, which has the metadata log.

Everything is checked before anything is written, so that a foreign directory stays as it was. Texts and their order are
those of MetaPropertiesEnsemble and KafkaRaftServer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falkirk.node.errors import StartupError
from falkirk.storage.meta_properties import FILE_NAME, MetaProperties, format_meta_properties, with_directory_id
from falkirk.storage.node_directories import read_node_directories
from falkirk.storage.partition_directory import METADATA_DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.node.config.node_config import NodeConfig
    from falkirk.protocol.chance import Chance
    from falkirk.storage.disk import Disk
    from falkirk.storage.node_directories import NodeDirectories


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirectories:
    """Ids of the log directories.

    `directory_ids` has every usable directory, by path; `offline` the others, with the reason. The directory of the
    metadata log is never offline.
    """

    cluster_id: str
    directory_ids: "Mapping[str, bytes]"
    metadata_directory_id: bytes
    offline: "Mapping[str, str]"
    # meta.properties of directories that get an id, by path.
    _rewritten: "Mapping[str, MetaProperties]"

    def write_ids(self, disk: Disk, config: NodeConfig) -> LogDirectories:
        """Write ids to directories that had none; a directory that cannot be written is offline from now on.

        Raises OSError for the directory of the metadata log.
        """
        failed: dict[str, str] = {}
        for path, properties in self._rewritten.items():
            try:
                disk.write(f"{path}/{FILE_NAME}", [format_meta_properties(properties)])
            except OSError as error:
                if path == config.metadata_log_dir:
                    raise
                failed[path] = f"{path}/{FILE_NAME}: {error.strerror}"
        ids = {path: directory_id for path, directory_id in self.directory_ids.items() if path not in failed}
        return replace(self, directory_ids=ids, offline={**self.offline, **failed}, _rewritten={})


def open_log_directories(config: NodeConfig, disk: Disk, random: Chance) -> LogDirectories:
    """Read all log directories; nothing is written. Raises StartupError."""
    directories = read_node_directories(disk, (*config.log_dirs, config.metadata_log_dir))
    _check(directories, config)
    for path in directories.formatted:
        misplaced = f"{path}/{METADATA_DIRECTORY}"
        if path != config.metadata_log_dir and disk.exists(misplaced):
            raise StartupError(
                f"Found unexpected metadata location in data directory `{misplaced}` "
                f"(the configured metadata directory is {config.metadata_log_dir})."
            )
    if directories.empty:
        raise StartupError(
            f"No `meta.properties` found in {directories.empty[0]} "
            "(have you run `kafka-storage.sh` to format the directory?)"
        )
    for path, meta in directories.formatted.items():
        if meta.node_id is None:
            raise StartupError(f"Error: node ID not found in {path}")
        if meta.cluster_id is None:
            raise StartupError(f"Error: cluster ID not found in {path}")
    return _with_ids(directories, config, random)


def _check(directories: NodeDirectories, config: NodeConfig) -> None:
    unreadable = directories.unreadable.get(config.metadata_log_dir)
    if unreadable is not None:
        raise StartupError(
            f"Encountered I/O error in metadata log directory {config.metadata_log_dir}. Cannot continue: {unreadable}"
        )
    if not directories.formatted:
        raise StartupError("No readable meta.properties files found.")
    reason = directories.reason_refused(cluster_id=None, node_id=config.node_id)
    if reason is not None:
        raise StartupError(reason)
    if config.is_broker and directories.unreadable.keys() >= set(config.log_dirs):
        raise StartupError(
            f"Shutdown broker because none of the specified log dirs from {', '.join(config.log_dirs)} can be created "
            f"or validated: {'; '.join(directories.unreadable.values())}"
        )


def _with_ids(directories: NodeDirectories, config: NodeConfig, random: Chance) -> LogDirectories:
    ids: dict[str, bytes] = {}
    rewritten: dict[str, MetaProperties] = {}
    for path, meta in directories.formatted.items():
        directory_id = meta.directory_id
        if directory_id is None:
            directory_id = directories.new_directory_id(random)
            rewritten[path] = with_directory_id(meta, directory_id)
        ids[path] = directory_id
    cluster_id = directories.formatted[config.metadata_log_dir].cluster_id
    assert cluster_id is not None, "checked before"
    return LogDirectories(
        cluster_id=cluster_id,
        directory_ids=ids,
        metadata_directory_id=ids[config.metadata_log_dir],
        offline=directories.unreadable,
        _rewritten=rewritten,
    )
