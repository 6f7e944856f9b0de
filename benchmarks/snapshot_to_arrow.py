"""A snapshot of a million partitions to Arrow, against Kafka's record reader over the same file.

Budgets: process wall >= 1x with numpy, everything included from the start of Python and of the JVM; with numba, warm,
>= 2x the same peer, that is Kafka's process from the start of the JVM. What is left of that when Kafka's reader is
warm as well is a line without a budget. Both sides check CRCs and decode every record of the file; ours keeps every
field of it in columns, Kafka's drops the objects that it makes.
"""

import sys
from pathlib import Path

from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.process import run_process
from support.rounds import WARM_ROUNDS, Turns, own_rounds, print_rounds

COLD_TURNS = 5
WARM_TURNS = 3


def measure(kafka: Peer) -> None:
    path = snapshot(kafka)
    cold(kafka, path)
    warm(kafka, path)


def cold(kafka: Peer, path: Path) -> None:
    """Whole processes, turn by turn."""
    own = [sys.executable, __file__, "decode", str(path), "numpy", "1"]
    run_process(own)  # the file is in memory afterwards
    theirs, ours = [], []
    for _ in range(COLD_TURNS):
        theirs.append(kafka.run("ReadSnapshot", path, 1)[1])
        ours.append(run_process(own))
    print_line(
        "snapshot to Arrow, 1M partitions, process wall, numpy",
        [run.seconds for run in ours],
        [run.seconds for run in theirs],
        budget=1,
        cpu=([run.cpu_seconds for run in ours], [run.cpu_seconds for run in theirs]),
    )


def warm(kafka: Peer, path: Path) -> None:
    """Processes that decode many times, turn by turn."""
    processes, theirs, ours = [], Turns(), Turns()
    for _ in range(WARM_TURNS):
        processes.append(kafka.run("ReadSnapshot", path, 1)[1].seconds)
        ours.add(own_rounds(__file__, "decode", path, "numba", WARM_ROUNDS))
        theirs.add(kafka.run("ReadSnapshot", path, WARM_ROUNDS)[0])
    name = "snapshot to Arrow, 1M partitions, warm, numba"
    print_line(name, ours.seconds, processes, budget=2, against="Kafka's process")
    print_line(
        f"{name}, CPU",
        ours.cpu_seconds,
        theirs.cpu_seconds,
        budget=None,
        against="Kafka, warm too",
        wall=(ours.seconds, theirs.seconds),
    )


def decode(path: Path, kernels: str, count: int) -> None:
    from falkirk.columnar.metadata_tables import iter_metadata_tables  # noqa: PLC0415 - part of what is measured

    def read() -> None:
        rows = sum(batch.num_rows for _, batch in iter_metadata_tables(path.read_bytes(), jit=kernels == "numba"))
        assert rows > 1_000_000

    print_rounds(read, count)


if __name__ == "__main__":
    if sys.argv[1:2] == ["decode"]:
        decode(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        measure_against_kafka("snapshot_to_arrow", measure)
