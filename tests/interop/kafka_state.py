"""The contents of a cluster, asked of it while it runs, or read by Kafka's own classes after it has stopped."""

from pathlib import Path
from typing import Any

from kafka_cluster import KafkaCluster
from kafka_java import answers

Document = dict[str, Any]  # Any: JSON values

BOOT_USER = "SCRAM-SHA-512=[name=boot,password=secret-boot]"


def ask(cluster: KafkaCluster, *, like: Document | None = None) -> Document:
    """Everything that the running nodes tell, also of groups with configs in `like`, which not every release lists."""
    options = ["--scram", cluster.scram_servers]
    configs = like["configs"] if like else {}
    groups = [name.removeprefix("group:") for name in configs if name.startswith("group:")]
    if groups:
        options += ["--groups", ",".join(groups)]
    return answers(cluster.running_servers, *options)


def leadership(cluster: KafkaCluster) -> Document:
    """Leaders, in-sync replicas, live brokers, and voters."""
    reported: Document = answers(cluster.running_servers, "--sections", "leadership")["leadership"]
    return reported


def producers(cluster: KafkaCluster) -> Document:
    """Each partition's producers with their epochs and last sequence numbers."""
    reported: Document = answers(cluster.running_servers, "--sections", "producers")["producers"]
    return reported


def newest_checkpoint(cluster: KafkaCluster, node_id: int = 1) -> Path:
    """The newest metadata snapshot of a node."""
    log_dirs = cluster.nodes[node_id].layout.log_dirs
    return max(file for path in log_dirs for file in path.glob("__cluster_metadata-0/*.checkpoint"))


def segment_names(cluster: KafkaCluster, topic: str) -> list[str]:
    """The data segments of a topic's partitions in all log dirs of the first node, without the dirs' names."""
    files = [file for path in cluster.layouts[0].log_dirs for file in path.glob(f"{topic}-*/*.log")]
    return sorted(f"{file.parent.name}/{file.name}" for file in files)
