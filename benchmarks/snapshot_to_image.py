"""A snapshot of a million partitions to the metadata image, against Kafka's snapshot reader, delta and image.

Budget: process wall >= 1x, everything included from the start of Python and of the JVM. Both sides check CRCs.
"""

import sys
from pathlib import Path

from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.load_image import load_image
from support.process import run_process

TURNS = 5


def measure(kafka: Peer) -> None:
    path = snapshot(kafka)
    own = [sys.executable, __file__, "load", str(path)]
    run_process(own)  # the file is in memory afterwards
    theirs, ours = [], []
    for _ in range(TURNS):
        theirs.append(kafka.run("LoadImage", path, 1)[1])
        ours.append(run_process(own))
    print_line(
        "snapshot to image, 1M partitions, process wall",
        [run.seconds for run in ours],
        [run.seconds for run in theirs],
        budget=1,
        cpu=([run.cpu_seconds for run in ours], [run.cpu_seconds for run in theirs]),
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["load"]:
        image = load_image(Path(sys.argv[2]))
        assert image.topics.partition_count == 1_000_000
    else:
        measure_against_kafka("snapshot_to_image", measure)
