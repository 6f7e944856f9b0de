"""Real Kafka as the peer: its jars, our Java programs that run on them, and the snapshot that both sides read."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.line import print_left_out
from support.process import ProcessRun, run_process

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "benchmarks" / "java"
RELEASE = "4.3.1"
TOPICS = 10_000
PARTITIONS_PER_TOPIC = 100
SEED = 1
# As Kafka's own start script does; the heap holds an image of a million partitions with room to spare.
JVM_OPTIONS = ("-server", "-Xmx5g", "-XX:+UseG1GC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error")

sys.path.insert(0, str(ROOT / "tools"))
from fetch_kafka import FetchError, cache_dir, kafka_libs, required_program  # noqa: E402 - found by the line above


class NoPeerError(Exception):
    """Kafka is not available; says what is missing."""


@dataclass(frozen=True)
class Peer:
    """Kafka with our programs, ready to run."""

    java: str
    class_path: str

    def command(self, program: str, *arguments: object) -> list[str]:
        return [self.java, *JVM_OPTIONS, "-cp", self.class_path, program, *map(str, arguments)]

    def run(self, program: str, *arguments: object) -> tuple[dict[str, Any], ProcessRun]:
        """Run a program that prints one JSON object; return that and the cost of the process."""
        done = run_process(self.command(program, *arguments))
        return json.loads(done.stdout), done


def measure_against_kafka(name: str, measure: Callable[[Peer], None]) -> None:
    """Run a benchmark if Kafka is available, else say that it is left out."""
    try:
        kafka = peer()
    except NoPeerError as error:
        print_left_out(name, str(error))
    else:
        measure(kafka)


def peer() -> Peer:
    """Fetch Kafka and compile our programs unless that is done. Raises NoPeerError."""
    try:
        java = required_program("java", "the peer of this benchmark")
        javac = required_program("javac", "the peer of this benchmark")
        libs = kafka_libs(RELEASE)
    except FetchError as error:
        raise NoPeerError(str(error)) from error
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    classes = cache_dir() / "bench" / f"classes-{digest}"
    if not classes.exists():
        aside = classes.with_suffix(".part")
        shutil.rmtree(aside, ignore_errors=True)
        command = [javac, "-nowarn", "-cp", f"{libs}/*", "-d", str(aside), *map(str, sources)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        aside.rename(classes)
    return Peer(java, f"{libs}/*:{classes}")


def snapshot(kafka: Peer, *, topics: int = TOPICS, partitions: int = PARTITIONS_PER_TOPIC) -> Path:
    """Return the snapshot of a large cluster, made once by Kafka's own writer and kept in the cache."""
    digest = hashlib.sha256((SOURCES / "MakeSnapshot.java").read_bytes()).hexdigest()[:12]
    folder = cache_dir() / "bench" / f"snapshot-{RELEASE}-{topics}x{partitions}-{digest}"
    if not folder.exists():
        aside = folder.with_suffix(".part")
        shutil.rmtree(aside, ignore_errors=True)
        kafka.run("MakeSnapshot", aside, topics, partitions, SEED)
        aside.rename(folder)
    (found,) = folder.glob("*.checkpoint")
    return found
