"""Compares the partition directories of a node with the metadata."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from falkirk.logdir.locate import METADATA_DIRECTORY
from falkirk.metadata.image.partition import LOST, MIGRATING, UNASSIGNED
from falkirk.protocol.uuid import uuid_text
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.partition_directory import DirectoryState, parse_partition_directory
from falkirk.storage.partition_metadata import FILE_NAME as PARTITION_METADATA
from falkirk.storage.partition_metadata import parse_partition_metadata

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falkirk.logdir.cluster import Cluster
    from falkirk.logdir.locate import LogDir, NodeDirs
    from falkirk.storage.disk import Disk


def partitions_of(disk: Disk, log_dir: LogDir) -> Iterator[tuple[str, str, int]]:
    """Yield (directory name, topic, partition) of each partition in use; those to be deleted or moved are left out."""
    for name in disk.list(str(log_dir.path)):
        parsed = parse_partition_directory(name)
        if parsed is None or parsed.state is not DirectoryState.CURRENT or name == METADATA_DIRECTORY:
            continue
        if disk.is_directory(str(log_dir.path / name)):
            yield name, parsed.topic, parsed.partition


def misplaced_partitions(disk: Disk, cluster: Cluster, node: NodeDirs) -> Iterator[tuple[Path, str]]:
    """Yield (path, what is wrong) for each directory that contradicts the metadata, or is missing."""
    if cluster.end_offset == 0:
        return
    here = set()
    for log_dir in node.log_dirs:
        for name, topic, partition in partitions_of(disk, log_dir):
            here.add((topic, partition))
            path = log_dir.path / name
            for detail in _misfits(disk, cluster, node, path, (topic, partition)):
                yield path, detail
    if node.node_id not in cluster.image.cluster.brokers:
        return
    for topic_image in cluster.image.topics:
        for number, image in topic_image.items():
            if node.node_id in image.replicas and (topic_image.name, number) not in here:
                yield node.log_dirs[0].path, f"no directory of {topic_image.name}-{number}, which has a replica here"


def _misfits(disk: Disk, cluster: Cluster, node: NodeDirs, path: Path, partition: tuple[str, int]) -> Iterator[str]:
    topic = cluster.image.topics.topic(partition[0])
    image = None if topic is None else topic.partition(partition[1])
    if topic is None or image is None or node.node_id not in image.replicas:
        yield f"the metadata places no replica of {partition[0]}-{partition[1]} on node {node.node_id}"
        return
    file = str(path / PARTITION_METADATA)
    if disk.exists(file):
        # Damage is reported by `small_files`.
        with suppress(CorruptFileError):
            topic_id = parse_partition_metadata(read_bounded(disk, file), file=file).topic_id
            if topic_id != topic.topic_id:
                yield f"its topic id is {uuid_text(topic_id)}, the metadata says {uuid_text(topic.topic_id)}"
    placed = image.directories[image.replicas.index(node.node_id)]
    ids = {log_dir.path: log_dir.meta.directory_id for log_dir in node.log_dirs}
    if placed not in (MIGRATING, UNASSIGNED, LOST, ids[path.parent]):
        known = "" if placed in ids.values() else ", which is none of the node's"
        yield f"the metadata places it in directory {uuid_text(placed)}{known}"
