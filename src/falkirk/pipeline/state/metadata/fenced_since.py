"""The time since when fenced brokers are fenced, as far as the files show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from falkirk.pipeline.state.metadata.feature_level_rows import SnapshotFacts
    from falkirk.pipeline.state.metadata.metadata_rows import OtherRecord
    from falkirk.protocol.schema import WireMessage

_CHANGES: Final = {1: True, -1: False}


def fenced_since(records: Sequence[OtherRecord], snapshot: SnapshotFacts | None) -> dict[int, int | None]:
    """Return, for each fenced broker, the time (ms) since which it is fenced without a break; None if unknown.

    What a snapshot says has held since its end at the latest; earlier records may show a time before.
    """
    since: dict[int, int | None] = {}
    for other in records:
        if other.is_earlier:
            _note(other.message, other.timestamp, since)
    in_snapshot = frozenset() if snapshot is None else snapshot.files
    if snapshot is not None:
        registered = [other.message for other in records
                      if other.file in in_snapshot and isinstance(other.message, RegisterBrokerRecord)]  # fmt: skip
        fenced = [record.broker_id for record in registered if record.fenced]
        since = {broker: since.get(broker, snapshot.timestamp) for broker in fenced}
    for other in records:
        if not other.is_earlier and other.file not in in_snapshot:
            _note(other.message, other.timestamp, since)
    return since


def _note(record: WireMessage, timestamp: int, since: dict[int, int | None]) -> None:
    broker, fenced = _fencing(record)
    if fenced:
        since.setdefault(broker, timestamp)
    elif fenced is False:
        since.pop(broker, None)


def _fencing(record: WireMessage) -> tuple[int, bool | None]:
    """Return the broker that a record is about, and whether the record fences it; None: no change."""
    match record:
        case RegisterBrokerRecord():
            return record.broker_id, record.fenced
        case BrokerRegistrationChangeRecord():
            return record.broker_id, _CHANGES.get(record.fenced)
        case FenceBrokerRecord():
            return record.id, True
        case UnfenceBrokerRecord():
            return record.id, False
        case UnregisterBrokerRecord():
            return record.broker_id, False
        case _:
            return -1, None
