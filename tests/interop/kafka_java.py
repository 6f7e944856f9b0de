"""Runs a main class of a Kafka release, or one of our programs in `java/` against its jars.

The programs are compiled once for each release into the cache that `tools/fetch_kafka.py` fills.
An archive of loaded classes (JVM class data sharing), written when the first JVM of a kind ends, halves start-up time.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fetch_kafka import exclusive, kafka_libs, release_dir, required_program

SOURCES = Path(__file__).resolve().parent / "java"
# Seed and Answers use clients of this release for brokers of every release: it speaks to all from 2.1 on.
CLIENT_RELEASE = "4.3.1"

# Compile fast and collect simply: these processes live for seconds on few cores.
_JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xshare:auto",
    "-Xlog:disable",
    "-Xlog:all=error:stderr",
)
_LOG_OPTIONS = ("-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS")
_COMPILE_TIMEOUT_S = 120
_PROGRAMS_KEPT_S = 24 * 3600


class KafkaProgramError(Exception):
    """A Java program failed; carries its exit status and the end of its stderr."""

    def __init__(self, program: str, status: int, stderr: str) -> None:
        self.status = status
        self.stderr = stderr
        super().__init__(f"{program} ended with status {status}:\n" + "\n".join(stderr.splitlines()[-40:]))


def jvm_command(
    release: str,
    main_class: str,
    arguments: Sequence[str],
    *,
    heap_mb: int = 512,
    log_level: str = "info",
    jars: Sequence[Path] = (),
    options: Sequence[str] = (),
) -> list[str]:
    """The command line that runs `main_class` on the jars of `release`, our own `jars` first."""
    class_path = [*jars, *sorted(kafka_libs(release).glob("*.jar"))]
    command = [required_program("java", "real Kafka"), f"-Xmx{heap_mb}m", *_JVM_OPTIONS, *_LOG_OPTIONS]
    command += [f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}", *options]
    return [*command, "-cp", os.pathsep.join(str(jar) for jar in class_path), main_class, *arguments]


def run_main(
    release: str,
    main_class: str,
    arguments: Sequence[str],
    *,
    heap_mb: int = 512,
    jars: Sequence[Path] = (),
    timeout_s: float = 180,
) -> str:
    """Run `main_class` to its end and return its stdout. Raises KafkaProgramError, subprocess.TimeoutExpired."""
    kind = main_class if not jars else f"{main_class}-{jars[0].parent.name}"
    sharing = ClassSharing(release, kind)
    try:
        command = jvm_command(
            release, main_class, arguments, heap_mb=heap_mb, log_level="error", jars=jars, options=sharing.options
        )
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise KafkaProgramError(f"{main_class} of Kafka {release}", done.returncode, done.stderr)
        sharing.keep()
    finally:
        sharing.close()
    return done.stdout


def run_program(
    program: str, arguments: Sequence[str], *, release: str = CLIENT_RELEASE, heap_mb: int = 512, timeout_s: float = 180
) -> str:
    """Run `java/<program>.java` on the jars of `release` and return its stdout. Errors as `run_main`."""
    jar = program_jar(program, release)
    return run_main(release, program, arguments, heap_mb=heap_mb, jars=[jar], timeout_s=timeout_s)


def answers(bootstrap_servers: str, *options: str, timeout_s: float = 180) -> dict[str, Any]:  # Any: a JSON document
    """Everything that a running cluster tells a client (see `java/Answers.java` for the options and the document)."""
    document: dict[str, Any] = json.loads(
        run_program("Answers", ["--bootstrap", bootstrap_servers, *options], timeout_s=timeout_s)
    )
    return document


def seed(bootstrap_servers: str, *options: str, timeout_s: float = 300) -> dict[str, Any]:  # Any: a JSON document
    """Fill a running cluster (see `java/Seed.java` for the options); returns what was made and how long it took."""
    document: dict[str, Any] = json.loads(
        run_program("Seed", ["--bootstrap", bootstrap_servers, *options], timeout_s=timeout_s)
    )
    return document


def load_snapshot(checkpoint: Path, release: str, *options: str) -> list[dict[str, Any]]:  # Any: JSON lines
    """The image that Kafka `release` reads from a metadata snapshot, as records (see `java/LoadSnapshot.java`).

    Raises KafkaProgramError if Kafka cannot read it.
    """
    lines = run_program("LoadSnapshot", [str(checkpoint), *options], release=release, heap_mb=2048)
    return [json.loads(line) for line in lines.splitlines()]


def program_jar(program: str, release: str, *, more: Sequence[Path] = ()) -> Path:
    """The jar of one of our programs, compiled against the jars of `release`, and `more`, unless it already is."""
    sources = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.glob("*.java")))).hexdigest()[:12]
    jar = release_dir(release) / "programs" / sources / f"{program}.jar"
    if jar.exists():
        return jar
    libs = kafka_libs(release)
    with exclusive(release_dir(release) / "programs.lock"):
        if not jar.exists():
            _remove_older(release, keep=sources)
            _compile(program, [libs / "*", *more], jar)
    return jar


class ClassSharing:
    """The archive of classes that JVMs of one kind and release load.

    Start the JVM with `options`; call `keep` after a clean exit, and `close` in any case.
    """

    def __init__(self, release: str, kind: str) -> None:
        self._archive = release_dir(release) / "classes" / f"{kind}.jsa"
        self._aside = self._archive.with_suffix(".partial")
        self._lock: Any = None  # Any: an open file
        self.options: list[str] = []
        if self._archive.exists():
            self.options = [f"-XX:SharedArchiveFile={self._archive}"]
        elif self._claim():
            self.options = [f"-XX:ArchiveClassesAtExit={self._aside}"]

    def keep(self) -> None:
        """Keep the archive, if this JVM wrote one."""
        if self._lock is not None and self._aside.exists():
            self._aside.rename(self._archive)

    def close(self) -> None:
        """Let another JVM write the archive if this one did not."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _claim(self) -> bool:
        """Claim the archive: one JVM at a time writes it, the others run without."""
        self._archive.parent.mkdir(parents=True, exist_ok=True)
        lock = self._archive.with_suffix(".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._aside.unlink(missing_ok=True)
        self._lock = lock
        return True


def _remove_older(release: str, *, keep: str) -> None:
    """Remove archives of earlier versions of the sources; a JVM that has one open goes on.

    Recent ones may belong to another clone at work, with other sources and the same cache.
    """
    for older in (release_dir(release) / "programs").glob("*"):
        if older.name != keep and time.time() - older.stat().st_mtime > _PROGRAMS_KEPT_S:
            shutil.rmtree(older)
            for archive in (release_dir(release) / "classes").glob(f"*-{older.name}.*"):
                archive.unlink(missing_ok=True)


def _compile(program: str, class_path: Sequence[Path], jar: Path) -> None:
    """Compile aside and rename. A jar, because class data sharing does not support folders on the class path."""
    jar.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".compile-", dir=jar.parent))
    try:
        classes = aside / "classes"
        command = [
            required_program("javac", "compiling the test programs"),
            "-nowarn",
            "-Xlint:none",
            "-d",
            str(classes),
        ]
        command += ["-cp", os.pathsep.join(map(str, class_path)), "-sourcepath", str(SOURCES)]
        command.append(str(SOURCES / f"{program}.java"))
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_COMPILE_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise KafkaProgramError(f"javac {program}.java", done.returncode, done.stderr)
        with zipfile.ZipFile(aside / jar.name, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.write(path, path.relative_to(classes))
        (aside / jar.name).rename(jar)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
