"""Events of a run as lines to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.simulation.explorer.cluster import Event, ExploredCluster

_SHOWN: Final = (
    "replica_epoch", "last_offset", "last_offset_epoch", "pre_vote", "vote_granted", "current_leader_epoch",
    "leader_epoch", "fetch_offset", "last_fetched_epoch", "high_watermark", "diverging_epoch", "snapshot_id",
    "voter_id", "error_code",
)  # fmt: skip

_VERBS: Final = {
    "timers": "lets all its timers pass",
    "crash": "crashes and starts again",
    "append": "appends a record",
    "register": "is requested to register a broker of an older release",
    "finalize": "is requested to finalize a level that an older release does not support",
    "lower": "appends a record that lowers the level",
    "offer": "offers a snapshot of its whole log",
    "clean": "replaces what is committed in its log by a snapshot",
}


def event_text(cluster: ExploredCluster, event: Event) -> str:
    """Return an event as one line."""
    text = _text(cluster, event)
    if event.crash is not None:
        text += f"; in step {event.crash.step + 1} a crash after {event.crash.writes} writes"
    return text


def _text(cluster: ExploredCluster, event: Event) -> str:
    node = f"node {event.node}"
    if event.message is not None:
        envelope = cluster.envelope(event.message)
        name, fields = envelope.body.name, ", ".join(_fields(envelope.body.decode()))
        late = " (late)" if envelope.slot is None else ""
        verb = {"deliver": "gets", "lose": "does not get"}.get(event.kind, "gets, and its response is lost:")
        return f"node {envelope.target} {verb} {name} from {envelope.source}{late}: {fields}"
    if event.kind == "change-voter":
        return f"{node} is requested to add or remove voter {event.subject}"
    return f"{node} {_VERBS[event.kind]}"


def _fields(message: object) -> Iterator[str]:
    """Yield the fields that decide, of a message and the structs within."""
    if isinstance(message, list | tuple):
        for each in message:
            yield from _fields(each)
    if not isinstance(message, msgspec.Struct):
        return
    for name in message.__struct_fields__:
        value = getattr(message, name)
        if isinstance(value, msgspec.Struct | list | tuple):
            inner = " ".join(_fields(value))
            if inner:
                yield inner
        elif name in _SHOWN and value not in (-1, b""):
            yield f"{name} {value}"
        elif name == "records" and value:
            yield f"{len(value)} bytes of records"
