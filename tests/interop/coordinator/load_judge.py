"""Runs `java/LoadJudge.java`: the loaders of real Kafka releases on any partitions."""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_java import KafkaProgramError, jvm_command

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord
from fetch_kafka import exclusive, kafka_libs, release_dir, required_program

SOURCES = Path(__file__).parent / "java"
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Judged:
    """Kafka's verdict on one partition: one for each record ("read", "skipped", "fails ..."), and the end.

    `end` is "loaded" or "fails ...", `groups` has (type, members, committed offsets, pending offsets) by group id.
    """

    verdicts: list[str]
    end: str
    groups: dict[str, tuple[str, int, int, int]]


def judge(release: str, partitions: Iterable[tuple[str, Sequence[LogEntry]]]) -> list[Judged]:
    """Let a release load partitions, each with its loader (see LoadJudge.java), in one JVM."""
    requested = list(partitions)
    answers = iter(_answers(release, [line for loader, entries in requested for line in _lines(loader, entries)]))
    return [_read(answers, sum(isinstance(entry, LoggedRecord) for entry in entries)) for _, entries in requested]


def configured(release: str, brokers: Iterable[Mapping[str, str]]) -> list[str]:
    """Return which group coordinator a release runs with each of these properties: "old", "new", or "fails ..."."""
    requested = [" ".join(["C", *(_hex(f"{key}={value}".encode()) for key, value in each.items())]) for each in brokers]
    return _answers(release, requested)[: len(requested)]


def _answers(release: str, requested: Sequence[str]) -> list[str]:
    classes = _compiled(release)
    command = jvm_command(release, "LoadJudge", [], heap_mb=1024, log_level="off", jars=[classes])
    done = subprocess.run(
        command, input="\n".join(requested) + "\n", capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )
    if done.returncode != 0:
        raise KafkaProgramError(f"LoadJudge of Kafka {release}", done.returncode, done.stderr)
    # Messages may hold characters that splitlines takes for ends of lines.
    return done.stdout.split("\n")


def _lines(loader: str, entries: Sequence[LogEntry]) -> Iterable[str]:
    yield f"K {loader}"
    for entry in entries:
        if isinstance(entry, LoggedRecord):
            yield f"R {entry.offset} {entry.producer_id} {_hex(entry.key)} {_hex(entry.value)}"
        else:
            yield f"E {entry.offset} {entry.producer_id} {'commit' if entry.is_commit else 'abort'}"
    yield "F"


def _hex(data: bytes | None) -> str:
    return "-" if data is None else data.hex() or "="


def _read(answers: Iterable[str], records: int) -> Judged:
    lines = iter(answers)
    verdicts = [next(lines) for _ in range(records)]
    end = next(lines)
    groups = {}
    while (line := next(lines)) != ".":
        _, group_id, type_, *numbers = line.split(" ")
        members, committed, pending = map(int, numbers)
        groups[bytes.fromhex(group_id).decode()] = (type_, members, committed, pending)
    return Judged(verdicts, end, groups)


def _compiled(release: str) -> Path:
    """The folder of the compiled program, compiled once for each version of its sources."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    classes = release_dir(release) / "load-judge" / digest
    libs = kafka_libs(release)
    with exclusive(release_dir(release) / "load-judge.lock"):
        if not classes.exists():
            aside = classes.with_suffix(f".{os.getpid()}")
            command = [required_program("javac", "compiling the test programs"), "-nowarn", "-Xlint:none"]
            command += ["-d", str(aside), "-cp", str(libs / "*"), *map(str, sources)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
            if done.returncode != 0:
                raise KafkaProgramError("javac LoadJudge.java", done.returncode, done.stderr)
            aside.rename(classes)
    return classes
