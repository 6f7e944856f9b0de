"""The offline downgrade of a node's directory, against copying the directory.

Budget: at most twice the wall time of `cp -a`, that is a ratio >= 0.5. The directory is that of one node of a cluster
with a million partitions: its whole metadata in one snapshot, and 8 GiB of its own partitions. `falkirk logdir
downgrade --unsafe --to 3.9` reads and rewrites the metadata (20,000 losses go to ledger and undo bundle), copies the
rest, and waits until everything is on disk; so `cp -a` is followed by `sync`. Needs 24 GiB of disk while it runs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from falkirk.storage.meta_properties import format_meta_properties, make_meta_properties
from falkirk.storage.quorum_state import QuorumState, format_quorum_state
from support.kafka_peer import NoPeerError, peer, snapshot
from support.line import print_left_out, print_line

NAME = "offline downgrade of a data directory, 1M partitions, 8 GiB"
TURNS = 3
NODE_ID = 0
PARTITIONS = 1024
SEGMENT_BYTES = 8 * 1024 * 1024
FALKIRK = Path(sys.executable).with_name("falkirk")


def main() -> None:
    try:
        metadata = snapshot(peer())
    except NoPeerError as error:
        print_left_out(NAME, str(error))
        return
    # Beside the snapshot, because folders for temporary files may lie in memory.
    with tempfile.TemporaryDirectory(dir=metadata.parents[1]) as folder:
        home = Path(folder)
        properties = make_node(home, metadata)
        ours, theirs = [], []
        for _ in range(TURNS):
            theirs.append(timed(home / "copy", ["sh", "-c", f"cp -a {home}/d0 {home}/copy && sync"]))
            command = [str(FALKIRK), "logdir", "downgrade", str(properties), "--to", "3.9", "--unsafe"]
            ours.append(timed(home / "out", [*command, "--out", str(home / "out")]))
        print_line(NAME, ours, theirs, budget=0.5, against="cp -a")


def make_node(home: Path, metadata: Path) -> Path:
    """Make the directory; return the server.properties that names it."""
    log_dir = home / "d0"
    quorum = log_dir / "__cluster_metadata-0"
    quorum.mkdir(parents=True)
    shutil.copyfile(metadata, quorum / metadata.name)
    (quorum / "quorum-state").write_bytes(
        format_quorum_state(QuorumState(data_version=0, leader_epoch=12, current_voters=(NODE_ID,)))
    )
    meta = make_meta_properties(cluster_id="benchmark-of-falkirk", node_id=NODE_ID, directory_id=None, now_ms=0)
    (log_dir / "meta.properties").write_bytes(format_meta_properties(meta))
    for partition in range(PARTITIONS):
        place = log_dir / f"data-{partition}"
        place.mkdir()
        (place / f"{0:020}.log").write_bytes(os.urandom(SEGMENT_BYTES))
    properties = home / "server.properties"
    properties.write_text(f"node.id={NODE_ID}\nlog.dirs=d0\ncontroller.quorum.voters={NODE_ID}@127.0.0.1:9093\n")
    return properties


def timed(made: Path, command: list[str]) -> float:
    """Return the wall time of a command; its output is removed."""
    subprocess.run(["sync"], check=True)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    shutil.rmtree(made)
    return seconds


if __name__ == "__main__":
    main()
