"""Partition data on brokers' disks: the bytes, and what Kafka's dump tool prints of them."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_java import jvm_command
from kafka_node import KafkaNode

_DUMP_TOOL = "kafka.tools.DumpLogSegments"
_RELEASE = "3.9.1"
_TIMEOUT_S = 120


def log_bytes(node: KafkaNode, partition: str) -> bytes:
    """All records of a partition on a node, segment by segment; empty without a directory."""
    files = [file for log_dir in node.layout.log_dirs for file in log_dir.glob(f"{partition}/*.log")]
    return b"".join(file.read_bytes() for file in sorted(files, key=lambda file: file.name))


def leader_epochs(node: KafkaNode, partition: str) -> list[str]:
    """The lines of a node's leader-epoch-checkpoint."""
    (file,) = [
        file for log_dir in node.layout.log_dirs for file in log_dir.glob(f"{partition}/leader-epoch-checkpoint")
    ]
    return file.read_text().splitlines()


def kafka_dump(node: KafkaNode, partitions: Sequence[str], tools_api: Path) -> list[str]:
    """Kafka's own dump of a node's segments, record by record, without file names."""
    files = [file for partition in partitions for file in _files(node, partition, "log")]
    printed = _dump(tools_api, "--deep-iteration", "--print-data-log", "--files", ",".join(files))
    return [line for line in printed if not line.startswith(("Dumping ", "Log starting offset"))]


def index_complaints(node: KafkaNode, partitions: Sequence[str], tools_api: Path) -> list[str]:
    """What Kafka's own dump tool reports about a stopped node's index files."""
    files = [
        file for partition in partitions for kind in ("index", "timeindex") for file in _files(node, partition, kind)
    ]
    assert files, partitions
    printed = _dump(tools_api, "--index-sanity-check", "--files", ",".join(files))
    assert len([line for line in printed if line.endswith("passed sanity check.")]) == len(files), printed
    return [line for line in printed if not line.startswith("Dumping ") and not line.endswith("passed sanity check.")]


def _files(node: KafkaNode, partition: str, kind: str) -> list[str]:
    return [str(file) for path in node.layout.log_dirs for file in sorted(path.glob(f"{partition}/*.{kind}"))]


def _dump(tools_api: Path, *options: str) -> list[str]:
    command = jvm_command(_RELEASE, _DUMP_TOOL, options, jars=[tools_api], log_level="error")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)
    # It ends with 1 where it complains of an index.
    assert "Exception" not in done.stderr, done.stderr
    return [line for line in done.stdout.splitlines() if line]
