"""Runs `java/ValidatorJudge.java`: verdicts of a real Kafka release's LogValidator on produced records."""

from collections.abc import Sequence
from dataclasses import dataclass

from storage_judge import ask

from falkirk.storage.log.log_config import LOG_APPEND_TIME, LogConfig


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
    lines = ask("ValidatorJudge", release, [_line(each) for each in produced])
    return [_verdict(line) for line in lines]


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
