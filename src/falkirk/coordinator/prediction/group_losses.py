"""What groups lose to a release, as reported by plans, ledgers and tables.

Each function is about one partition of `__consumer_offsets`: `name` is that of its directory, `source` the directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.coordinator.prediction.groups import GroupVerdict, LossKind
from falkirk.coordinator.records.record_type import GroupType, record_type_name
from falkirk.ledger.findings import Conversion, ConversionKind
from falkirk.ledger.reported_group import ReportedGroup
from falkirk.ledger.reported_loss import ReportedLoss

if TYPE_CHECKING:
    from collections.abc import Container

    from falkirk.coordinator.prediction.groups import FailingRecord, GroupReadability, GroupsReadability
    from falkirk.versions.release import Release

_RECORDS_COME_BACK: Final = "undo puts its records back"
_RECORDS_STAY: Final = "the records stay, and count again after an upgrade"
_SHARE_GROUP: Final = "its start offsets and delivery state cannot be used"


def group_losses(
    answer: GroupsReadability, *, name: str, source: str, deleted: Container[str] = ()
) -> list[ReportedLoss]:
    """Return the losses of a partition: records that have to go, share groups, offsets that are not served.

    `deleted`: groups whose records do not stay, because they get tombstones.
    """
    found = [_record_loss(record, answer.release, name, source) for record in answer.failing]
    for group in answer.groups:
        if group.verdict is not GroupVerdict.UNREADABLE:
            continue
        counts = {loss.kind: loss.count for loss in group.losses}
        stays = LossKind.RECORDS not in counts and group.group_id not in deleted
        if group.type is GroupType.SHARE and LossKind.GROUP in counts:
            found.append(_group_loss("share_group", group, answer.release, source, _SHARE_GROUP, stays=stays))
        offsets = counts.get(LossKind.COMMITTED_OFFSETS, 0) + counts.get(LossKind.PENDING_OFFSETS, 0)
        if offsets and group.hidden_by is None:
            what = f"{offsets} of its offsets are not served"
            found.append(_group_loss("committed_offsets", group, answer.release, source, what, stays=stays))
    return found


def group_conversion(group: GroupReadability, release: Release, *, name: str) -> Conversion | None:
    """Return the removal of the tombstone that would hide the group's offsets; None if there is none."""
    if group.hidden_by is None:
        return None
    return Conversion(
        kind=ConversionKind.HIDING_TOMBSTONE_REMOVED,
        fields={
            "group": group.group_id,
            "partition": group.partition,
            "offset": group.hidden_by,
            "committed_offsets": group.committed_offsets,
        },
        text=f"group {group.group_id}: the tombstone at offset {group.hidden_by} of {name} goes, behind "
        f"which Kafka {release.word} would hide its {group.committed_offsets} offsets",
    )


def reported_group(group: GroupReadability) -> ReportedGroup:
    """Return the group as front ends report it."""
    return ReportedGroup(
        group=group.group_id,
        type=group.type.value,
        partition=group.partition,
        members=group.members,
        committed_offsets=group.committed_offsets,
        pending_offsets=group.pending_offsets,
        verdict=group.verdict.value,
        lost={loss.kind.value: loss.count for loss in group.losses},
        detail=_detail(group),
    )


def _record_loss(record: FailingRecord, release: Release, name: str, source: str) -> ReportedLoss:
    type_name = record_type_name(record.type)
    of_group = "no group" if record.group_id is None else f"group {record.group_id}"
    return ReportedLoss(
        kind="group_record",
        key=f"{of_group}: {type_name}",
        key_fields={"group": record.group_id, "type": record.type, "partition": record.partition},
        record=type_name,
        offset=record.offset,
        source=source,
        before={"tombstone": record.is_tombstone},
        after=None,
        detail=f"with it Kafka {release.word} would load no group of {name}: {record.reason}",
    )


def _group_loss(
    kind: str, group: GroupReadability, release: Release, source: str, what: str, *, stays: bool
) -> ReportedLoss:
    return ReportedLoss(
        kind=kind,
        key=f"group {group.group_id}",
        key_fields={"group": group.group_id, "partition": group.partition},
        record=f"{group.type.value} group",
        offset=None,
        source=source,
        before={"members": group.members, "committed_offsets": group.committed_offsets},
        after=None,
        detail=f"{what} in Kafka {release.word}; {_RECORDS_STAY if stays else _RECORDS_COME_BACK}",
    )


def _detail(group: GroupReadability) -> str:
    """Return a clause on what becomes of a group."""
    if group.verdict is GroupVerdict.READABLE:
        return "readable as it is"
    if group.verdict is GroupVerdict.APPEARS_EMPTY:
        return f"appears empty; its {group.committed_offsets} offsets stay"
    parts = [f"{loss.count} {loss.kind.value.replace('_', ' ')}" for loss in group.losses]
    return f"not readable: {', '.join(parts)}"
