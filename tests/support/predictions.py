"""Questions to predictions of what a release's group coordinator loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.coordinator.prediction.group_survey import GroupSurvey, SurveyedGroup
from falkirk.coordinator.prediction.readability import UnknownTypeError, group_record_reader
from falkirk.coordinator.prediction.verdict import READ, SKIPPED, Verdict, fails
from falkirk.coordinator.records.loader_rules import CoordinatorKind, loader_rules
from falkirk.protocol.lax_reader import ReadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.coordinator.prediction.groups import GroupsReadability
    from falkirk.coordinator.records.log_entry import LogEntry
    from falkirk.versions.release import Release


def surveyed_groups(entries: Iterable[LogEntry]) -> dict[str, SurveyedGroup]:
    """Return the groups of one partition, whatever release may read them."""
    survey = GroupSurvey()
    for entry in entries:
        survey.add(entry)
    return survey.groups()


def failing_partitions(answer: GroupsReadability) -> tuple[int, ...]:
    """Return the partitions that would not load."""
    return tuple(sorted({record.partition for record in answer.failing}))


def failing_offsets(answer: GroupsReadability, partition: int) -> frozenset[int]:
    """Return the offsets to remove from a partition so that it loads."""
    return frozenset(record.offset for record in answer.failing if record.partition == partition)


def group_record_verdict(
    release: Release, key: bytes | None, value: bytes | None, kind: CoordinatorKind | None = None
) -> Verdict:
    """Return what the deserialiser of `__consumer_offsets` does with one record; a replay may fail on it yet."""
    try:
        group_record_reader(release, loader_rules(release, kind)).decode(key, value)
    except UnknownTypeError:
        return SKIPPED
    except ReadError as error:
        return fails(str(error))
    return READ
