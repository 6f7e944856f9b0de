"""Shorthands for tests of stopped clusters."""

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

from falkirk.ledger.findings import Finding
from falkirk.logdir.changes import NewSnapshot
from falkirk.logdir.cluster import Cluster, read_cluster
from falkirk.logdir.group_records import read_groups
from falkirk.logdir.locate import find_nodes
from falkirk.logdir.plan import Plan, make_plan
from falkirk.logdir.target import parse_target
from falkirk.storage.posix_disk import PosixDisk

DISK = PosixDisk()


def cluster_at(*paths: Path) -> Cluster:
    return read_cluster(PosixDisk(), find_nodes(list(paths)))


def plan_for(to: str, *paths: Path, read_by: str | None = None) -> Plan:
    target = parse_target(to, read_by=read_by)
    cluster = cluster_at(*paths)
    return make_plan(cluster, target, read_groups(PosixDisk(), cluster, target.release))


def texts(findings: Iterable[Finding]) -> list[str]:
    return [finding.text for finding in findings]


def hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each file by path."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class MadeContents(NewSnapshot):
    """File contents produced by a function when the file is written."""

    def __init__(self, make: Callable[[], list[bytes]]) -> None:
        object.__setattr__(self, "make", make)

    @property
    def chunks(self) -> list[bytes]:
        return self.make()
