"""Runs `java/ValidatorJudge.java`: what the LogValidator of a real Kafka release makes of produced records."""

import hashlib
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka_java import KafkaProgramError, jvm_command

from falkirk.storage.log.log_config import LOG_APPEND_TIME, LogConfig
from fetch_kafka import exclusive, kafka_libs, release_dir, required_program

SOURCE = Path(__file__).parent / "java" / "ValidatorJudge.java"
_TIMEOUT_S = 300


@dataclass(frozen=True, kw_only=True)
class Produced:
    """Records as a client sends them to a topic; `version` is that of Produce, -1 for a coordinator."""

    records: bytes
    config: LogConfig
    version: int = 9
    first_offset: int = 1000
    leader_epoch: int = 3
    now_ms: int = 1_700_000_000_000


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`written` is None if the records are refused: then `code` says why, `indexes` which of them are at fault."""

    written: bytes | None = None
    code: str = ""
    indexes: tuple[int, ...] = ()
    message: str = ""


def judge(release: str, produced: Sequence[Produced]) -> list[Verdict]:
    """Let a release validate all of these, in one JVM."""
    classes = _compiled(release)
    command = jvm_command(release, "ValidatorJudge", [], heap_mb=1024, log_level="off", jars=[classes])
    asked = "".join(f"{_line(each)}\n" for each in produced)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise KafkaProgramError(f"ValidatorJudge of Kafka {release}", done.returncode, done.stderr)
    return [_verdict(line) for line in done.stdout.split("\n")[: len(produced)]]


def _line(each: Produced) -> str:
    config = each.config
    fields = (
        each.version,
        each.first_offset,
        each.leader_epoch,
        each.now_ms,
        config.compression_type,
        int(config.message_timestamp_type == LOG_APPEND_TIME),
        int(config.is_compacted),
        config.message_timestamp_before_max_ms,
        config.message_timestamp_after_max_ms,
        config.max_message_bytes,
        each.records.hex(),
    )
    return " ".join(map(str, fields))


def _verdict(line: str) -> Verdict:
    word, _, rest = line.partition(" ")
    if word == "ok":
        return Verdict(written=bytes.fromhex(rest))
    code, indexes, message = rest.split(" ", 2)
    return Verdict(code=code, indexes=tuple(map(int, filter(None, indexes.split(",")))), message=message)


def _compiled(release: str) -> Path:
    """The folder of the compiled program, made once for each state of its source."""
    package = "org.apache.kafka.common.record"
    # Since 4.2 the classes of records stand apart from what clients may use.
    if release >= "4.2":
        package += ".internal"
    source = SOURCE.read_text().replace("RECORD_PACKAGE", package)
    classes = release_dir(release) / "validator-judge" / hashlib.sha256(source.encode()).hexdigest()[:12]
    with exclusive(release_dir(release) / "validator-judge.lock"):
        if not classes.exists():
            aside = classes.with_suffix(f".{os.getpid()}")
            aside.mkdir(parents=True)
            (aside / SOURCE.name).write_text(source)
            command = [required_program("javac", "compiling the test programs"), "-nowarn", "-Xlint:none"]
            command += ["-d", str(aside), "-cp", str(kafka_libs(release) / "*"), str(aside / SOURCE.name)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
            if done.returncode != 0:
                raise KafkaProgramError("javac ValidatorJudge.java", done.returncode, done.stderr)
            aside.rename(classes)
    return classes
