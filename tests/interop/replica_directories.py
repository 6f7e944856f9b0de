"""Where replicas are: by our controllers' metadata, and by the brokers' disks."""

import shutil
import time
from pathlib import Path

from mixed_cluster import MixedCluster

from falkirk.logdir.cluster import read_cluster
from falkirk.logdir.locate import METADATA_DIRECTORY, find_nodes
from falkirk.storage.meta_properties import FILE_NAME, parse_meta_properties
from falkirk.storage.posix_disk import PosixDisk

_DEADLINE_S = 30
_POLL_S = 0.5
_IDS_RESERVED = 100
Directories = dict[tuple[int, str], bytes]


def replica_directories(cluster: MixedCluster, topic: str, scratch: Path) -> tuple[Directories, Directories]:
    """Directory ids by broker and partition, in the metadata and on disk, once none is unassigned in the metadata.

    Brokers report new replicas within seconds; raises TimeoutError.
    """
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        assigned = _assigned(cluster, topic, scratch)
        if assigned and all(int.from_bytes(one, "big") >= _IDS_RESERVED for one in assigned.values()):
            return assigned, _on_disk(cluster, topic)
        if time.monotonic() > deadline:
            raise TimeoutError(f"within {_DEADLINE_S} s not all were assigned: {assigned}")
        time.sleep(_POLL_S)


def _assigned(cluster: MixedCluster, topic: str, scratch: Path) -> Directories:
    """The assignments in the running controllers' metadata log, read from copies."""
    shutil.rmtree(scratch, ignore_errors=True)
    for node in cluster.controllers:
        source = node.layout.log_dirs[0]
        copy = scratch / f"node-{node.layout.node_id}"
        shutil.copytree(source / METADATA_DIRECTORY, copy / METADATA_DIRECTORY)
        shutil.copy(source / FILE_NAME, copy)
    image = read_cluster(PosixDisk(), find_nodes([scratch])).image
    found = image.topics.by_name.get(topic)
    if found is None:
        return {}
    return {
        (replica, f"{topic}-{number}"): directory
        for number, partition in enumerate(found.partitions)
        for replica, directory in zip(partition.replicas, partition.directories, strict=True)
    }


def _on_disk(cluster: MixedCluster, topic: str) -> Directories:
    found: Directories = {}
    for node in cluster.brokers:
        for log_dir in node.layout.log_dirs:
            directory_id = parse_meta_properties((log_dir / FILE_NAME).read_bytes()).directory_id
            assert directory_id is not None
            for path in log_dir.glob(f"{topic}-[0-9]*"):
                found[node.layout.node_id, path.name] = directory_id
    return found
