"""Make the demo's data: a stopped cluster of real Kafka 4.3.1.

One combined node with two log dirs, filled by the programs of the interop tests. One directory is cordoned, and a
cleanly stopped node leaves every partition without in-sync replicas, with eligible leader replicas instead: things that
3.9 cannot hold. Writes `data/cluster-4.3.1.tar.gz` beside this file. Needs Java 17 and Maven, and takes a minute.
"""

import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "tests" / "interop"), str(HERE.parent / "tools")]

from kafka_cluster import KafkaCluster  # noqa: E402 - found by the line above
from kafka_java import seed  # noqa: E402 - same

RELEASE = "4.3.1"
STEPS = "topics,configs,acls,scram,quotas,data,transactions,classic-groups,consumer-groups,share-groups,streams-groups"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        cluster = KafkaCluster.new(RELEASE, home, log_dirs=2)
        cluster.format()
        with cluster.running():
            seed(cluster.bootstrap_servers, "--steps", STEPS)
        # A directory can be cordoned once both of them have got partitions.
        cordoned = {"cordoned.log.dirs": str(cluster.layouts[0].log_dirs[1])}
        cluster = cluster.moved_to({1: cluster.layouts[0].log_dirs}, RELEASE, home=home / "cordoned", settings=cordoned)
        with cluster.running():
            pass  # it takes the cordon, and stops cleanly
        data = HERE / "data"
        data.mkdir(exist_ok=True)
        with tarfile.open(data / f"cluster-{RELEASE}.tar.gz", "w:gz") as archive:
            archive.add(home / "node-1", "cluster/node-1", filter=nobody)


def nobody(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """Remove the owner from an entry; leave out the stopped node's lock."""
    if entry.name.endswith("/.lock"):
        return None
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry


if __name__ == "__main__":
    main()
