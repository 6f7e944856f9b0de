"""Since when fenced brokers are fenced, as far back as the files tell."""

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

    from falkirk.pipeline.state.feature_level_rows import SnapshotFacts
    from falkirk.pipeline.state.metadata_rows import OtherRecord
    from falkirk.protocol.schema import WireMessage


def fenced_since(records: Sequence[OtherRecord], snapshot: SnapshotFacts | None) -> dict[int, int | None]:
    """Give the time (ms) from which on each fenced broker has been so without a break; None where nothing tells.

    What a snapshot says holds since its end at the latest, unless earlier records know better.
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


_CHANGES: Final = {1: True, -1: False}


def _note(record: WireMessage, timestamp: int, since: dict[int, int | None]) -> None:
    broker, fenced = _said(record)
    if fenced:
        since.setdefault(broker, timestamp)
    elif fenced is False:
        since.pop(broker, None)


def _said(record: WireMessage) -> tuple[int, bool | None]:
    """Give the broker that a record is about, and whether it is fenced from then on; None: as before."""
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
