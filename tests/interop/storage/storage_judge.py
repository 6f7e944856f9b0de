"""Runs the programs in `java/` against the jars of a Kafka release: a line in, a line out."""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from kafka_java import KafkaProgramError, jvm_command

from fetch_kafka import exclusive, kafka_libs, release_dir, required_program

SOURCES = Path(__file__).parent / "java"
_TIMEOUT_S = 300


def ask(program: str, release: str, lines: Sequence[str]) -> list[str]:
    """The output of a program, in one JVM."""
    classes = _compiled(program, release)
    command = jvm_command(release, program, [], heap_mb=1024, log_level="off", jars=[classes])
    requested = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=requested, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise KafkaProgramError(f"{program} of Kafka {release}", done.returncode, done.stderr)
    # Messages may hold characters that splitlines takes for ends of lines.
    return done.stdout.split("\n")[: len(lines)]


def _compiled(program: str, release: str) -> Path:
    """The folder of the compiled program, compiled once for each version of its source."""
    package = "org.apache.kafka.common.record"
    # Since 4.2 the classes of records stand apart from what clients may use.
    if tuple(map(int, release.split("."))) >= (4, 2):
        package += ".internal"
    sources = {name: (SOURCES / name).read_text() for name in (f"{program}.java", "FixedTime.java")}
    sources = {name: source.replace("RECORD_PACKAGE", package) for name, source in sources.items()}
    folder = release_dir(release) / "storage-judges"
    classes = folder / hashlib.sha256("".join(sources.values()).encode()).hexdigest()[:12]
    with exclusive(release_dir(release) / "storage-judges.lock"):
        if not classes.exists():
            aside = classes.with_suffix(f".{os.getpid()}")
            aside.mkdir(parents=True)
            for name, source in sources.items():
                (aside / name).write_text(source)
            command = [required_program("javac", "compiling the test programs"), "-nowarn", "-Xlint:none"]
            command += ["-d", str(aside), "-cp", str(kafka_libs(release) / "*")]
            command += [str(aside / name) for name in sources]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
            if done.returncode != 0:
                raise KafkaProgramError(f"javac {program}.java", done.returncode, done.stderr)
            aside.rename(classes)
    return classes
