"""A snapshot of a million partitions to Arrow, against Kafka's record reader over the same file.

Budgets: process wall >= 1x with numpy, everything included from the start of Python and of the JVM; >= 2x warm with
numba. Both sides check CRCs and decode every record of the file; ours keeps every field of it in columns.
"""

import sys
from pathlib import Path

from support.kafka_peer import NoPeerError, Peer, peer, snapshot
from support.line import print_line
from support.process import run_process
from support.rounds import Rounds, own_rounds, print_rounds

COLD_TURNS = 5
WARM_TURNS = 2
WARM_ROUNDS = 10
WARM_SKIPPED = 4


def main() -> None:
    try:
        kafka = peer()
    except NoPeerError as error:
        print(f"snapshot_to_arrow left out: {error}")
        return
    path = snapshot(kafka)
    cold(kafka, path, "numpy", must=1)
    cold(kafka, path, "numba", must=0)
    warm(kafka, path, must={"numpy": 0, "numba": 2})


def cold(kafka: Peer, path: Path, kernels: str, *, must: float) -> None:
    """Whole processes, turn by turn."""
    own = [sys.executable, __file__, "decode", str(path), kernels, "1"]
    run_process(own)  # the file is in memory afterwards, and compiled code on disk
    theirs, ours = [], []
    for _ in range(COLD_TURNS):
        theirs.append(kafka.run("ReadSnapshot", path, 1)[1])
        ours.append(run_process(own))
    print_line(
        f"snapshot to Arrow, process wall, {kernels}",
        [run.seconds for run in ours],
        [run.seconds for run in theirs],
        must=must,
        ours_cpu=[run.cpu_seconds for run in ours],
        peer_cpu=[run.cpu_seconds for run in theirs],
    )


def warm(kafka: Peer, path: Path, *, must: dict[str, float]) -> None:
    """Rounds within one process of each side, turn by turn; the first ones do not count."""
    theirs = Rounds()
    ours = {kernels: Rounds() for kernels in must}
    for _ in range(WARM_TURNS):
        theirs.add(kafka.run("ReadSnapshot", path, WARM_ROUNDS)[0], skip=WARM_SKIPPED)
        for kernels, rounds in ours.items():
            rounds.add(own_rounds(__file__, "decode", path, kernels, WARM_ROUNDS), skip=WARM_SKIPPED)
    for kernels, rounds in ours.items():
        print_line(
            f"snapshot to Arrow, warm, {kernels}",
            rounds.seconds,
            theirs.seconds,
            must=must[kernels],
            ours_cpu=rounds.cpu_seconds,
            peer_cpu=theirs.cpu_seconds,
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
        main()
