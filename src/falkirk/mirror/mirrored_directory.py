"""The directory into which a running cluster is fetched: that of a node, as `falkirk logdir` and `fleet` read it.

It is that of the node that led the quorum when it was created. Everything in it is committed, so it stands for the
whole cluster, whoever the other voters are (`log_dir_names.LIVE_MARKER`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from falkirk.mirror.errors import MirrorError
from falkirk.mirror.metadata_mirror import mirror_metadata
from falkirk.mirror.partition_mirror import PartitionMirror
from falkirk.mirror.topic_mirror import TopicMirrors
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.log_dir_names import LIVE_MARKER, is_plain_name
from falkirk.storage.meta_properties import FILE_NAME as META_PROPERTIES
from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties, parse_meta_properties
from falkirk.storage.partition_directory import METADATA_DIRECTORY
from falkirk.storage.posix_disk import PosixDisk, link_outside
from falkirk.storage.quorum_state import FILE_NAME as QUORUM_STATE
from falkirk.storage.quorum_state import QuorumState, format_quorum_state

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from falkirk.client.admin import AsyncAdmin
    from falkirk.client.connection import NodeConnection
    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.protocol.topic_partition import TopicPartition


class MirroredDirectory:
    """Logs of one cluster below `folder`, in a directory that is named after the cluster's id."""

    def __init__(self, folder: Path, cluster_id: str, leader_id: int) -> None:
        """Open or create the directory.

        Raises OSError, CorruptFileError for a meta.properties that does not parse, and MirrorError for an id that is no
        file name, or where a symbolic link leads out of the directory: what is fetched would be written there.
        """
        if not is_plain_name(cluster_id):
            raise MirrorError(f"cluster id {cluster_id!r} is no name of a directory")
        self.path = folder / cluster_id
        self._cluster_id = cluster_id
        meta = self.path / META_PROPERTIES
        if meta.exists():
            outside = link_outside(str(self.path))
            if outside is not None:
                link, target = outside
                raise MirrorError(f"{link}: a symbolic link to {target}, outside of the directory that is fetched into")
        else:
            self.path.mkdir(parents=True, exist_ok=True)
            (self.path / LIVE_MARKER).touch()
            made = make_meta_properties(
                cluster_id=cluster_id, node_id=leader_id, directory_id=None, now_ms=int(time.time() * 1000)
            )
            meta.write_bytes(format_meta_properties(made))
        parse_meta_properties(read_bounded(PosixDisk(), str(meta)), file=str(meta))
        self._metadata = PartitionMirror(self.path / METADATA_DIRECTORY)
        self._topics: dict[tuple[str, ...], TopicMirrors] = {}

    async def fetch_topics(self, brokers: AsyncAdmin, topics: Sequence[str]) -> None:
        """Fetch what is new of topics; those that do not exist are left out. Raises as `TopicMirrors.refresh`."""
        mirrors = self._topics.setdefault(tuple(topics), TopicMirrors(topics, self._open))
        await mirrors.refresh(brokers)

    def _open(self, partition: TopicPartition) -> PartitionMirror:
        return PartitionMirror(self.path / str(partition))

    async def fetch_metadata(self, leader: NodeConnection, quorum: QuorumDescription) -> None:
        """Fetch what is new of the metadata log. Raises as `mirror_metadata`."""
        await mirror_metadata(leader, self._cluster_id, quorum.leader_epoch, self._metadata)
        state = QuorumState(
            data_version=0,
            leader_id=quorum.leader_id,
            leader_epoch=quorum.leader_epoch,
            current_voters=tuple(sorted(quorum.voters)),
        )
        (self._metadata.directory / QUORUM_STATE).write_bytes(format_quorum_state(state))
