"""A replica's state copied, as a value, and with its timers passed: by all attributes, so that none is forgotten."""

from __future__ import annotations

from dataclasses import is_dataclass
from enum import Enum
from types import BuiltinMethodType, MethodType
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.protocol import codec
from falkirk.protocol.schema import WireMessage
from falkirk.raft.config import RaftConfig
from falkirk.raft.request_manager import RequestManager
from falkirk.simulation.explorer.memory_log import MemoryLog

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from falkirk.raft.replica import RaftReplica

NOW_MS: Final = 1_000_000
"""The time on every clock, always: a step that lets time pass moves the replica's times into the past instead."""
_PAST_MS: Final = 1
_STATEFUL: Final = ("falkirk.raft", "falkirk.timers")
# Caches of other attributes, and what decides when something is done, but not what.
_LEFT_OUT: Final = frozenset((
    "_facts", "_last_high_watermark", "_last_leader", "_leader", "_leader_state", "_marks", "_now_ms", "_random",
    "_stored", "facts", "fetched_voters", "last_fetch_ms", "leader_end_at_last_fetch", "random", "sent_high_watermark",
))  # fmt: skip


class Reflection:
    """Remembers what it found out about classes, and the values of immutable objects."""

    def __init__(self) -> None:
        self._attributes: dict[type, tuple[str, ...] | None] = {}
        # By identity, with the object, so that it stays.
        self._values: dict[int, tuple[object, Hashable]] = {}

    def copy_of(self, replica: RaftReplica) -> RaftReplica:
        """Return a replica that behaves as this one, and shares with it only what never changes."""
        copied = self._copy(replica, {})
        assert isinstance(copied, type(replica))
        return copied

    def fingerprint(self, replica: RaftReplica) -> Hashable:
        """Return a value that is equal for replicas that behave the same. The ids of requests are left out."""
        return self._value(replica, set())

    def let_all_timers_pass(self, replica: RaftReplica) -> None:
        """Move each time that the replica holds into the past."""
        for each in self._objects(replica):
            for name in self._names(each):
                # What is smaller is a duration.
                if name.endswith("_ms") and isinstance(value := getattr(each, name), int) and value >= NOW_MS:
                    setattr(each, name, _PAST_MS)

    def _names(self, value: object) -> tuple[str, ...]:
        """Return the attributes of an object with state; none for any other."""
        names = self._slots(type(value))
        if names is None:
            return ()
        # What a compiled class has not set yet is not there.
        return (*(name for name in names if hasattr(value, name)), *getattr(value, "__dict__", ()))

    def _slots(self, class_: type) -> tuple[str, ...] | None:
        if class_ not in self._attributes:
            is_stateful = class_.__module__.startswith(_STATEFUL) and not issubclass(
                class_, Enum | tuple | msgspec.Struct | RaftConfig
            )
            self._attributes[class_] = None
            if is_stateful and not _is_frozen(class_):
                # A compiled class names its attributes so.
                names = [
                    name
                    for base in class_.__mro__
                    for kind in ("__slots__", "__mypyc_attrs__")
                    for name in base.__dict__.get(kind, ())
                    if name != "__dict__"
                ]
                self._attributes[class_] = tuple(dict.fromkeys(names))
        return self._attributes[class_]

    def _objects(self, root: object) -> Iterator[object]:
        """Yield the objects with state that a replica consists of."""
        seen: set[int] = set()
        pending = [root]
        while pending:
            each = pending.pop()
            if isinstance(each, dict):
                pending += each.values()
            elif id(each) not in seen and self._slots(type(each)) is not None:
                seen.add(id(each))
                yield each
                pending += (getattr(each, name) for name in self._names(each))

    def _copy(self, value: Any, copies: dict[int, object]) -> Any:  # Any: whatever a replica consists of
        class_ = type(value)
        copied: Any = value  # Any: the same
        if class_ is dict:
            copied = {key: self._copy(each, copies) for key, each in value.items()}
        elif class_ is list or class_ is tuple:
            copied = class_(self._copy(each, copies) for each in value)
        elif class_ is set:
            copied = set(value)
        elif class_ is MethodType or class_ is BuiltinMethodType:
            copied = getattr(self._copy(value.__self__, copies), value.__name__)
        elif class_ is MemoryLog or self._slots(class_) is not None:
            copied = copies.get(id(value)) or self._copy_of_object(value, copies)
        return copied

    def _copy_of_object(self, value: Any, copies: dict[int, object]) -> object:  # Any: the same
        class_: Any = type(value)  # Any: the same
        if class_ is MemoryLog:
            copied = copies[id(value)] = value.copy()
            return copied
        # Timers, whose class is generic, are made as new ones where they are compiled: mypyc cannot leave that out.
        copied = copies[id(value)] = class_.__new__(class_)
        for name in self._names(value):
            setattr(copied, name, self._copy(getattr(value, name), copies))
        return copied

    def _value(self, value: object, seen: set[int]) -> Hashable:  # noqa: PLR0911  one for each kind of value
        match value:
            case None | int() | str() | bytes() | Enum():
                return value
            case list():
                return tuple(self._value(each, seen) for each in value)
            case set():
                return frozenset(value)
            case dict():
                return frozenset((self._value(key, seen), self._value(each, seen)) for key, each in value.items())
            case MemoryLog():
                return value.key
            case RequestManager():
                is_first = id(value) not in seen
                seen.add(id(value))
                return self._requests_value(value, seen) if is_first else None
            case RaftConfig() | MethodType() | BuiltinMethodType():
                return None
        if self._slots(type(value)) is None:
            return self._immutable_value(value, seen)
        if id(value) in seen:
            return None
        seen.add(id(value))
        names = (name for name in self._names(value) if name not in _LEFT_OUT)
        return type(value).__name__, tuple((name, self._value(getattr(value, name), seen)) for name in names)

    def _immutable_value(self, value: object, seen: set[int]) -> Hashable:
        if isinstance(value, tuple):
            return tuple(self._value(each, seen) for each in value)
        known = self._values.get(id(value))
        if known is not None:
            return known[1]
        found: Hashable = None
        if isinstance(value, WireMessage):
            found = type(value).__name__, codec.encode(value, type(value).SCHEMA.info.versions.ranges[-1][1])
        elif isinstance(value, msgspec.Struct):
            found = msgspec.structs.astuple(value)
        elif is_dataclass(value):
            found = tuple(self._value(getattr(value, name), seen) for name in value.__dataclass_fields__)
        self._values[id(value)] = value, found
        return found

    def _requests_value(self, manager: RequestManager, seen: set[int]) -> Hashable:
        sent = {each.destination: each.message for each in manager._sent.values()}  # noqa: SLF001
        return frozenset(
            (
                destination,
                each.request_id is not None,
                each.free_at_ms > NOW_MS,
                self._value(sent.get(destination), seen),
            )
            for destination, each in manager._connections.items()  # noqa: SLF001
        )


def _is_frozen(class_: type) -> bool:
    parameters = getattr(class_, "__dataclass_params__", None)
    return parameters is not None and parameters.frozen
