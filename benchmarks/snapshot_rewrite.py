"""The records of a snapshot of a million partitions at another metadata.version, against Kafka's image writer.

Budgets: >= 5x where records stay as they are, >= 0.9x for PartitionRecord version 2 to 0; both sides warm, with their
input in memory (ours the bytes, Kafka's the image) and the output counted and dropped. That Kafka loads the result as
it would its own is for tests/columnar/test_rewrite_in_kafka.py to say.
"""

import sys
from pathlib import Path

from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.rounds import WARM_ROUNDS, Turns, own_rounds, print_rounds

TURNS = 3
# Target level, budget. Kafka's writer drops what 3.7-IV0 cannot hold, and so do we.
TARGETS = {"records unchanged": ("4.3-IV0", 5), "partitions v2 to v0": ("3.7-IV0", 0.9)}


def measure(kafka: Peer) -> None:
    path = snapshot(kafka)
    for name, (level, budget) in TARGETS.items():
        theirs, ours = Turns(), {kernels: Turns() for kernels in ("numpy", "numba")}
        for _ in range(TURNS):
            theirs.add(kafka.run("WriteImage", path, WARM_ROUNDS, level)[0])
            for kernels, turns in ours.items():
                turns.add(own_rounds(__file__, "rewrite", path, level, kernels, WARM_ROUNDS))
        for kernels, turns in ours.items():
            print_line(
                f"snapshot rewritten, 1M partitions, {name}, warm, CPU, {kernels}",
                turns.cpu_seconds,
                theirs.cpu_seconds,
                budget=budget,
                wall=(turns.seconds, theirs.seconds),
            )


def rewrite(path: Path, level: str, kernels: str, count: int) -> None:
    from falkirk.columnar.rewrite import RewriteTarget, rewrite_snapshot  # noqa: PLC0415 - as in the other files
    from falkirk.versions.metadata_version import MetadataVersion  # noqa: PLC0415 - same

    data = path.read_bytes()
    target = RewriteTarget(metadata_version=MetadataVersion.parse(level), elr_enabled=level >= "4", base_offset=1)

    def work() -> None:
        pieces = rewrite_snapshot(data, target, lambda _: None, jit=kernels == "numba")
        assert sum(map(len, pieces)) > 50_000_000

    print_rounds(work, count)


if __name__ == "__main__":
    if sys.argv[1:2] == ["rewrite"]:
        rewrite(Path(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]))
    else:
        measure_against_kafka("snapshot_rewrite", measure)
