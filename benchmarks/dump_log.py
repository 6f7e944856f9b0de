"""A metadata snapshot of more than 20 MB dumped as text, against Kafka's dump tool.

Budget: faster than the tool in wall time of the process, the start of Python and of the JVM included. Both write to
/dev/null; once, their texts are compared line by line.
"""

import subprocess
import sys
from pathlib import Path

from support.kafka_peer import Peer, measure_against_kafka, snapshot
from support.line import print_line
from support.process import run_process

TURNS = 3
TOPICS = 3_000
FALKIRK = Path(sys.executable).with_name("falkirk")
TOOL = "org.apache.kafka.tools.DumpLogSegments"


def measure(kafka: Peer) -> None:
    path = snapshot(kafka, topics=TOPICS)
    assert path.stat().st_size > 20_000_000
    ours, theirs = commands(kafka, path)
    assert_same_text(ours, theirs)
    ours_runs, their_runs = [], []
    for _ in range(TURNS):
        ours_runs.append(run_process(to_nowhere(ours)))
        their_runs.append(run_process(to_nowhere(theirs)))
    print_line(
        "metadata snapshot dumped as text, 300k partitions, process wall",
        [run.seconds for run in ours_runs],
        [run.seconds for run in their_runs],
        budget=1,
        cpu=([run.cpu_seconds for run in ours_runs], [run.cpu_seconds for run in their_runs]),
    )


def commands(kafka: Peer, path: Path) -> tuple[list[str], list[str]]:
    arguments = ["--cluster-metadata-decoder", "--files", str(path)]
    return [str(FALKIRK), "dump-log", *arguments], kafka.command(TOOL, *arguments)


def to_nowhere(command: list[str]) -> list[str]:
    return ["sh", "-c", 'exec "$@" >/dev/null', "sh", *command]


def assert_same_text(ours: list[str], theirs: list[str]) -> None:
    with (
        subprocess.Popen(ours, stdout=subprocess.PIPE) as our_process,
        subprocess.Popen(theirs, stdout=subprocess.PIPE) as their_process,
    ):
        assert our_process.stdout is not None
        assert their_process.stdout is not None
        for our_line, their_line in zip(our_process.stdout, their_process.stdout, strict=True):
            assert our_line == their_line, (our_line, their_line)


if __name__ == "__main__":
    measure_against_kafka("dump_log", measure)
