"""What `falkirk groups reset-offsets` is asked to do, checked in the words of kafka-consumer-groups."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from falkirk.cli.failure import CommandFailedError, WrongUsageError
from falkirk.cli.group_connection import command_failed
from falkirk.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

OffsetPlan = dict[str, dict[TopicPartition, int]]
"""Offset by partition, by group."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetScenario:
    """Where offsets are to go: exactly one of these is given."""

    to_offset: int | None = None
    to_datetime: str | None = None
    by_duration: str | None = None
    to_earliest: bool = False
    to_latest: bool = False
    to_current: bool = False
    shift_by: int | None = None
    from_file: Path | None = None

    def __post_init__(self) -> None:
        """Raise WrongUsageError for none or several."""
        given = [option for option, is_given in self._given() if is_given]
        if len(given) > 1:
            raise WrongUsageError(f'Option "[{given[0]}]" can\'t be used with option "[{given[1]}]"')
        if not given:
            raise WrongUsageError(f"Option '[reset-offsets]' requires one of the following scenarios: {_SCENARIOS}")

    def timestamp_ms(self, now_ms: int) -> int | None:
        """Give the time from which on records are to be read; None: no time is asked for.

        Raises CommandFailedError for a time or duration that does not parse.
        """
        if self.to_datetime is not None:
            return _parse_datetime(self.to_datetime)
        if self.by_duration is not None:
            return now_ms - _parse_duration_ms(self.by_duration)
        return None

    def _given(self) -> Iterable[tuple[str, bool]]:
        yield "to-offset", self.to_offset is not None
        yield "to-datetime", self.to_datetime is not None
        yield "by-duration", self.by_duration is not None
        yield "to-earliest", self.to_earliest
        yield "to-latest", self.to_latest
        yield "to-current", self.to_current
        yield "shift-by", self.shift_by is not None
        yield "from-file", self.from_file is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicScope:
    """Which partitions: those that are named, those of `topics`, or with `all_topics` those with an offset."""

    partitions: tuple[TopicPartition, ...]
    topics: tuple[str, ...]
    all_topics: bool


def parse_scope(topic_arguments: Sequence[str], *, all_topics: bool = False) -> TopicScope:
    """Read `orders` and `orders:0,1`. Raises WrongUsageError."""
    partitions: list[TopicPartition] = []
    topics: list[str] = []
    for argument in topic_arguments:
        if ":" not in argument:
            topics.append(argument)
            continue
        topic, _, numbers = argument.partition(":")
        if not numbers or ":" in numbers:
            raise WrongUsageError(f"Invalid topic arg '{argument}', expected topic name and partitions")
        for number in numbers.split(","):
            if re.fullmatch(r"[+-]?[0-9]+", number) is None:
                raise WrongUsageError(f"Invalid partition '{number}' specified in topic arg '{argument}''")
            partitions.append(TopicPartition(topic, int(number)))
    return TopicScope(partitions=tuple(partitions), topics=tuple(topics), all_topics=all_topics)


def read_plan(file: Path, group_ids: Sequence[str]) -> OffsetPlan:
    """Read lines `topic,partition,offset` if one group is meant, else `group,topic,partition,offset`.

    Raises CommandFailedError for a file that cannot be read, or a line that is none.
    """
    try:
        lines = list(csv.reader(file.read_text().splitlines()))
    except OSError as error:
        raise command_failed(f"java.io.IOException: Unable to read file {file}") from error
    has_groups = len(group_ids) != 1 or (bool(lines) and len(lines[0]) != _COLUMNS)
    plan: OffsetPlan = {}
    for number, line in enumerate(lines, 1):
        try:
            group_id, topic, partition, offset = line if has_groups else [group_ids[0], *line]
            plan.setdefault(group_id, {})[TopicPartition(topic, int(partition))] = int(offset)
        except ValueError as error:
            form = "group,topic,partition,offset" if has_groups else "topic,partition,offset"
            raise CommandFailedError(f"{file}: line {number}: {','.join(line)!r} is no {form}") from error
    return plan


_COLUMNS: Final = 3
_SCENARIOS: Final = (
    "[[to-offset], [shift-by], [to-datetime], [by-duration], [to-earliest], [to-latest], [to-current], [from-file]]"
)
# ISO 8601 as java.time.Duration has it: days are 24 hours, signs may stand before each part.
_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?:T(?=[-+\d])(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+(?:[.,]\d{0,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS: Final = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def _parse_datetime(text: str) -> int:
    date, _, time = text.partition("T")
    if not date or not time:
        reason = "Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"
        raise command_failed(f"java.text.ParseException: {reason}")
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise command_failed(f'java.text.ParseException: Unparseable date: "{text}"') from error
    in_zone = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return round(in_zone.timestamp() * 1000)


def _parse_duration_ms(text: str) -> int:
    found = _DURATION.fullmatch(text)
    parts = {} if found is None else {name: found[name] for name in _SECONDS if found[name] is not None}
    if found is None or not parts:
        raise command_failed("Text cannot be parsed to a Duration")
    seconds = sum(float(value.replace(",", ".")) * _SECONDS[name] for name, value in parts.items())
    return round(seconds * 1000) * (-1 if found["sign"] == "-" else 1)
