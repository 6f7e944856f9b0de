"""The options of `falkirk groups reset-offsets`: where the offsets go, and which partitions it is about."""

from __future__ import annotations

import csv
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from falkirk.cli.console.failure import CommandFailedError, WrongUsageError
from falkirk.operations.group_offsets import TopicScope
from falkirk.operations.offset_reset import Position, ShiftBy, ToOffset, ToTime
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from falkirk.operations.offset_reset import OffsetPlan, Scenario

_PLAN_COLUMNS: Final = 3
# ISO 8601 as java.time.Duration has it: days are 24 hours, signs may stand before each part.
_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?:T(?=[-+\d])(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def parse_scenario(
    *,
    to_offset: int | None = None,
    shift_by: int | None = None,
    to_datetime: str | None = None,
    by_duration: str | None = None,
    to_earliest: bool = False,
    to_latest: bool = False,
    to_current: bool = False,
    from_file: Path | None = None,
    now_ms: int | None = None,
) -> Scenario | Path:
    """Return the scenario of the one option that is given; for --from-file the path, for `read_plan`.

    `now_ms`: None: the time of the machine. Raises WrongUsageError unless there is one option; CommandFailedError for a
    time that does not parse.
    """
    given: dict[str, Scenario | Path] = {}
    if to_offset is not None:
        given["--to-offset"] = ToOffset(to_offset)
    if to_datetime is not None:
        given["--to-datetime"] = ToTime(_parse_datetime(to_datetime))
    if by_duration is not None:
        now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
        given["--by-duration"] = ToTime(now_ms - _parse_duration_ms(by_duration))
    positions = {"--to-earliest": to_earliest, "--to-latest": to_latest, "--to-current": to_current}
    given |= {option: Position[option.removeprefix("--to-").upper()] for option, flag in positions.items() if flag}
    if shift_by is not None:
        given["--shift-by"] = ShiftBy(shift_by)
    if from_file is not None:
        given["--from-file"] = from_file
    if not given:
        raise WrongUsageError(
            "say where to: --to-offset, --shift-by, --to-datetime, --by-duration, --to-earliest, --to-latest, "
            "--to-current or --from-file"
        )
    if len(given) > 1:
        raise WrongUsageError(f"{' and '.join(given)} exclude each other")
    return next(iter(given.values()))


def parse_scope(topic_arguments: Sequence[str], *, all_topics: bool = False) -> TopicScope:
    """Parse `orders` and `orders:0,1`. Raises WrongUsageError."""
    partitions: list[TopicPartition] = []
    topics: list[str] = []
    for argument in topic_arguments:
        topic, colon, numbers = argument.partition(":")
        if not colon:
            topics.append(argument)
            continue
        for number in numbers.split(","):
            if re.fullmatch(r"[+-]?[0-9]+", number) is None:
                raise WrongUsageError(f"--topic: '{argument}' is neither a topic nor a topic with partitions (t:0,1)")
            partitions.append(TopicPartition(topic, int(number)))
    return TopicScope(partitions=tuple(partitions), topics=tuple(topics), all_topics=all_topics)


def read_plan(file: Path, group_ids: Sequence[str]) -> OffsetPlan:
    """Read lines `topic,partition,offset` if there is one group, else `group,topic,partition,offset`.

    Raises OSError; CommandFailedError for a line that does not parse.
    """
    lines = list(csv.reader(file.read_text().splitlines()))
    has_groups = len(group_ids) != 1 or (bool(lines) and len(lines[0]) != _PLAN_COLUMNS)
    plan: OffsetPlan = {}
    for number, line in enumerate(lines, 1):
        try:
            group_id, topic, partition, offset = line if has_groups else [group_ids[0], *line]
            plan.setdefault(group_id, {})[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            form = "group,topic,partition,offset" if has_groups else "topic,partition,offset"
            raise CommandFailedError(f"{file}: line {number}: {','.join(line)!r} is no {form}") from error
    return plan


def _parse_datetime(text: str) -> int:
    try:
        parsed = datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        parsed = None
    if parsed is None:
        raise CommandFailedError(f"--to-datetime: '{text}' is not YYYY-MM-DDThh:mm:ss.sss")
    in_zone = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return round(in_zone.timestamp() * 1000)


def _parse_duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text)
    parts = {} if found is None else {name: found[name] for name in _SECONDS if found[name] is not None}
    if found is None or not parts:
        raise CommandFailedError(f"--by-duration: '{text}' is not PnDTnHnMnS")
    seconds = sum(float(value.replace(",", ".")) * _SECONDS[name] for name, value in parts.items())
    return round(seconds * 1000) * (-1 if found["sign"] == "-" else 1)
