"""A snapshot of a million partitions to the metadata image, against Kafka's snapshot reader, delta and image.

Budget: process wall >= 1x, everything included from the start of Python and of the JVM. Both sides check CRCs.
"""

import sys
from pathlib import Path

from support.kafka_peer import NoPeerError, peer, snapshot
from support.line import print_line
from support.load_image import load_image
from support.process import run_process

TURNS = 5


def main() -> None:
    try:
        kafka = peer()
    except NoPeerError as error:
        print(f"snapshot_to_image left out: {error}")
        return
    path = snapshot(kafka)
    own = [sys.executable, __file__, "load", str(path)]
    run_process(own)  # the file is in memory afterwards
    theirs, ours = [], []
    for _ in range(TURNS):
        theirs.append(kafka.run("LoadImage", path, 1)[1])
        ours.append(run_process(own))
    print_line(
        "snapshot to image, process wall",
        [run.seconds for run in ours],
        [run.seconds for run in theirs],
        must=1,
        ours_cpu=[run.cpu_seconds for run in ours],
        peer_cpu=[run.cpu_seconds for run in theirs],
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        image = load_image(Path(sys.argv[2]))
        assert image.topics.partition_count == 1_000_000
    else:
        main()
