"""The records of a snapshot of a million partitions at another metadata.version, against Kafka's image writer.

Budgets: >= 5x where records stay as they are, >= 0.9x for PartitionRecord version 2 to 0; both sides warm, with their
input in memory (ours the bytes, Kafka's the image) and the output counted and dropped. Whether Kafka loads the result
is for the tests to say.
"""

import sys
from pathlib import Path

from support.kafka_peer import NoPeerError, peer, snapshot
from support.line import print_line
from support.rounds import Rounds, own_rounds, print_rounds

TURNS = 2
ROUNDS = 10
SKIPPED = 4
# Target level, budget. Kafka's writer drops what 3.7-IV0 cannot hold, and so do we.
TARGETS = {"records unchanged": ("4.3-IV0", 5), "partitions v2 to v0": ("3.7-IV0", 0.9)}


def main() -> None:
    try:
        kafka = peer()
    except NoPeerError as error:
        print(f"snapshot_rewrite left out: {error}")
        return
    path = snapshot(kafka)
    for name, (level, must) in TARGETS.items():
        theirs = Rounds()
        ours = {kernels: Rounds() for kernels in ("numpy", "numba")}
        for _ in range(TURNS):
            theirs.add(kafka.run("WriteImage", path, ROUNDS, level)[0], skip=SKIPPED)
            for kernels, rounds in ours.items():
                rounds.add(own_rounds(__file__, "rewrite", path, level, kernels, ROUNDS), skip=SKIPPED)
        for kernels, rounds in ours.items():
            print_line(
                f"snapshot rewritten, {name}, {kernels}",
                rounds.seconds,
                theirs.seconds,
                must=must if kernels == "numpy" else 0,
                ours_cpu=rounds.cpu_seconds,
                peer_cpu=theirs.cpu_seconds,
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
        main()
