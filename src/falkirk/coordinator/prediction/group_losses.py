"""What groups lose to a release, in the words and fields in which plans, ledgers and tables tell it.

Each function is about one partition of `__consumer_offsets`: `name` is that of its directory, `source` the directory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from falkirk.coordinator.prediction.groups import GroupVerdict, LossKind
from falkirk.coordinator.record_type import GroupType, record_type_name

if TYPE_CHECKING:
    from falkirk.coordinator.prediction.groups import FailingRecord, GroupReadability, GroupsReadability
    from falkirk.versions.release import Release


def group_losses(answer: GroupsReadability, *, name: str, source: str) -> list[dict[str, Any]]:  # Any: JSON values
    """Give the losses of a partition: records that have to go, share groups, offsets that are not served."""
    found = [_record_loss(record, answer.release, name, source) for record in answer.failing]
    for group in answer.groups:
        if group.verdict is not GroupVerdict.UNREADABLE:
            continue
        counts = {loss.kind: loss.count for loss in group.losses}
        if group.type is GroupType.SHARE and LossKind.GROUP in counts:
            found.append(_group_loss("share_group", group, answer.release, source, _SHARE_GROUP))
        offsets = counts.get(LossKind.COMMITTED_OFFSETS, 0) + counts.get(LossKind.PENDING_OFFSETS, 0)
        if offsets and group.hidden_by is None:
            what = f"{offsets} of its offsets are not served"
            found.append(_group_loss("committed_offsets", group, answer.release, source, what))
    return found


def tombstoned(loss: dict[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """Give a loss of a group whose records do not stay, because they are deleted."""
    return loss | {"detail": loss["detail"].replace(_STAYS, _GOES)}


def group_conversion(group: GroupReadability, release: Release, *, name: str) -> str | None:
    """Give a sentence on the tombstone that goes so that the group's offsets are served; None: none has to."""
    if group.hidden_by is None:
        return None
    return (
        f"group {group.group_id}: the tombstone at offset {group.hidden_by} of {name} goes, behind "
        f"which Kafka {release.word} would hide its {group.committed_offsets} offsets"
    )


def group_detail(group: GroupReadability) -> str:
    """Say in one clause what becomes of a group."""
    if group.verdict is GroupVerdict.READABLE:
        return "readable as it is"
    if group.verdict is GroupVerdict.APPEARS_EMPTY:
        return f"appears empty; its {group.committed_offsets} offsets stay"
    parts = [f"{loss.count} {loss.kind.value.replace('_', ' ')}" for loss in group.losses]
    return f"not readable: {', '.join(parts)}"


_GOES: Final = "undo puts its records back"
_STAYS: Final = "the records stay, and count again after an upgrade"
_SHARE_GROUP: Final = "its start offsets and delivery state cannot be used"


def _record_loss(record: FailingRecord, release: Release, name: str, source: str) -> dict[str, Any]:  # Any: JSON values
    type_name = record_type_name(record.type)
    of_group = "no group" if record.group_id is None else f"group {record.group_id}"
    return {
        "kind": "group_record",
        "key": f"{of_group}: {type_name}",
        "key_fields": {"group": record.group_id, "type": record.type, "partition": record.partition},
        "record": type_name,
        "offset": record.offset,
        "source": source,
        "before": {"tombstone": record.is_tombstone},
        "after": None,
        "detail": f"with it Kafka {release.word} would load no group of {name}: {record.reason}",
    }


def _group_loss(
    kind: str, group: GroupReadability, release: Release, source: str, what: str
) -> dict[str, Any]:  # Any: JSON values
    goes = any(loss.kind is LossKind.RECORDS for loss in group.losses)
    stays = _GOES if goes else _STAYS
    return {
        "kind": kind,
        "key": f"group {group.group_id}",
        "key_fields": {"group": group.group_id, "partition": group.partition},
        "record": f"{group.type.value} group",
        "offset": None,
        "source": source,
        "before": {"members": group.members, "committed_offsets": group.committed_offsets},
        "after": None,
        "detail": f"{what} in Kafka {release.word}; {stays}",
    }
