"""A snapshot of a million partitions to Arrow, against Kafka's record reader on the same file.

Budget: process wall >= 1x, everything included from the start of Python and of the JVM. Both sides check CRCs and
decode every record of the file; ours keeps every field in columns, Kafka's drops the objects that it makes.
"""

import sys
from pathlib import Path

from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.process import run_process

TURNS = 5


def measure(kafka: Peer) -> None:
    """Measure whole processes, turn by turn."""
    path = snapshot(kafka)
    own = [sys.executable, __file__, "decode", str(path)]
    run_process(own)  # the file is in memory afterwards
    theirs, ours = [], []
    for _ in range(TURNS):
        theirs.append(kafka.run("ReadSnapshot", path, 1)[1])
        ours.append(run_process(own))
    print_line(
        "snapshot to Arrow, 1M partitions, process wall",
        [run.seconds for run in ours],
        [run.seconds for run in theirs],
        budget=1,
        cpu=([run.cpu_seconds for run in ours], [run.cpu_seconds for run in theirs]),
    )


def decode(path: Path) -> None:
    from falkirk.columnar.metadata_tables import iter_metadata_tables  # noqa: PLC0415 - part of what is measured
    from falkirk.columnar.report import ReadReport  # noqa: PLC0415 - same

    report = ReadReport()
    rows = sum(batch.num_rows for _, batch in iter_metadata_tables(path.read_bytes(), report=report))
    assert rows > 1_000_000
    assert not report.problems


if __name__ == "__main__":
    if sys.argv[1:2] == ["decode"]:
        decode(Path(sys.argv[2]))
    else:
        measure_against_kafka("snapshot_to_arrow", measure)
