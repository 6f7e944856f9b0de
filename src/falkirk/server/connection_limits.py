"""Limits of accepted connections: how many there may be, and how fast they may come.

`max.connections` and `max.connection.creation.rate` of the broker and of a listener make a new connection wait, and
those behind it on its listener; `max.connections.per.ip` refuses it. Source: ConnectionQuotas (KIP-402, KIP-612).
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from falkirk.node.config.security_settings import listener_prefix
from falkirk.node.connections.client_quotas import QuotaWindows, SampledRate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from falkirk.versions.configs.definition import Value

_UNLIMITED: Final = 2**31 - 1
_MAX_CONNECTIONS: Final = "max.connections"
_CREATION_RATE: Final = "max.connection.creation.rate"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerLimits:
    """`max_connections`, and `creation_rate` in connections per second."""

    max_connections: int = _UNLIMITED
    creation_rate: int = _UNLIMITED


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """`max_by_host` are the overrides of `max_per_ip`; `protected`: the listener that has room when others have not.

    Listeners in `controllers` are counted by themselves: Kafka's two roles have no limits in common.
    `waiting_max`: how many may wait on a listener; in Kafka they wait in its socket (`socket.listen.backlog.size`).
    """

    broker: ListenerLimits = field(default_factory=ListenerLimits)
    by_listener: Mapping[str, ListenerLimits] = field(default_factory=dict)
    max_per_ip: int = _UNLIMITED
    max_by_host: Mapping[str, int] = field(default_factory=dict)
    protected: str | None = None
    controllers: frozenset[str] = frozenset()
    windows: QuotaWindows = field(default_factory=QuotaWindows)
    waiting_max: int = 50

    @classmethod
    def of(
        cls,
        values: Mapping[str, Value],
        properties: Mapping[str, str],
        listeners: Iterable[str],
        *,
        controllers: frozenset[str] = frozenset(),
        inter_broker: str | None = None,
    ) -> LimitSettings:
        """Read them; `listeners`: all names, also those in `controllers`; `inter_broker`: the one between brokers."""
        overrides = str(values["max.connections.per.ip.overrides"]).split(",")
        pairs = [entry.rpartition(":") for entry in overrides if entry.strip()]
        by_listener = {name: _limits_of(properties, name) for name in listeners}
        has_others = len(by_listener.keys() - controllers) > 1
        return cls(
            broker=ListenerLimits(
                max_connections=_number(values[_MAX_CONNECTIONS]), creation_rate=_number(values[_CREATION_RATE])
            ),
            by_listener=by_listener,
            max_per_ip=_number(values["max.connections.per.ip"]),
            max_by_host={host.strip(): int(number) for host, _, number in pairs},
            protected=inter_broker if has_others else None,
            controllers=controllers,
            windows=QuotaWindows(
                _number(values["quota.window.num"]), 1000 * _number(values["quota.window.size.seconds"])
            ),
            waiting_max=_number(values["socket.listen.backlog.size"]),
        )


def _limits_of(properties: Mapping[str, str], listener: str) -> ListenerLimits:
    prefix = listener_prefix(listener)
    texts = (properties.get(prefix + key) for key in (_MAX_CONNECTIONS, _CREATION_RATE))
    count, rate = (_UNLIMITED if text is None else int(text) for text in texts)
    return ListenerLimits(max_connections=count, creation_rate=rate)


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


@dataclass(slots=True)
class _Arrival(Generic[T]):
    connection: T
    host: str
    # When the rates allow it; None: nobody has asked yet, because others are before it.
    until_ms: int | None = None


class ConnectionLimits(Generic[T]):
    """Admits connections, and counts them; a connection is any object."""

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._queues: dict[str, deque[_Arrival[T]]] = {}
        # By listener, or by role: whether it is that of a controller.
        self._rates: dict[str | bool, SampledRate] = {}
        self._by_listener: Counter[str] = Counter()
        self._by_role: Counter[bool] = Counter()
        self._by_host: defaultdict[bool, Counter[str]] = defaultdict(Counter)

    def change(self, settings: LimitSettings) -> None:
        """Apply other limits from now on; who waits for a rate already waits as long as before."""
        self._settings = settings

    def arrive(self, connection: T, listener: str, host: str) -> bool:
        """Let a connection wait for `pop_ready`; False: too many wait there already."""
        queue = self._queues.setdefault(listener, deque())
        if len(queue) > self._settings.waiting_max:
            return False
        queue.append(_Arrival(connection, host))
        return True

    def pop_ready(self, now_ms: int) -> Iterator[tuple[T, str, str | None]]:
        """Remove and yield the connections that need not wait any more: counted, or with why they are refused.

        Each with its listener.
        """
        for listener, queue in self._queues.items():
            while queue and self._is_ready(listener, queue[0], now_ms):
                arrival = queue.popleft()
                allowed = self._settings.max_by_host.get(arrival.host, self._settings.max_per_ip)
                role = listener in self._settings.controllers
                if self._by_host[role][arrival.host] >= allowed:
                    yield arrival.connection, listener, f"max.connections.per.ip is {allowed}"
                    continue
                self._by_role[role] += 1
                self._by_host[role][arrival.host] += 1
                self._by_listener[listener] += 1
                yield arrival.connection, listener, None

    def give_up(self, connection: T, listener: str) -> None:
        """Remove a connection that waits."""
        queue = self._queues.get(listener, deque())
        self._queues[listener] = deque(each for each in queue if each.connection is not connection)

    def leave(self, listener: str, host: str) -> None:
        """Uncount an admitted connection."""
        role = listener in self._settings.controllers
        by_host = self._by_host[role]
        self._by_role[role] -= 1
        self._by_listener[listener] -= 1
        by_host[host] -= 1
        if not by_host[host]:
            del by_host[host]

    def next_ready_ms(self, now_ms: int) -> int | None:
        """Return when a rate allows the next connection; None: none waits for that."""
        heads = (queue[0].until_ms for queue in self._queues.values() if queue)
        return min((until_ms for until_ms in heads if until_ms is not None and until_ms > now_ms), default=None)

    @property
    def exceeded_listeners(self) -> frozenset[str]:
        """The listeners of which connections have to end.

        There are some where max.connections was lowered, or the protected listener needed the room.
        """
        settings = self._settings
        roles = {role for role, count in self._by_role.items() if count > settings.broker.max_connections}
        if not roles:
            return frozenset()
        return frozenset(
            name for name in self._queues if (name in settings.controllers) in roles and name != settings.protected
        )

    def _is_ready(self, listener: str, arrival: _Arrival[T], now_ms: int) -> bool:
        if arrival.until_ms is None:
            arrival.until_ms = now_ms + self._delay_ms(listener, now_ms)
        return now_ms >= arrival.until_ms and self._has_room(listener)

    def _delay_ms(self, listener: str, now_ms: int) -> int:
        """Count a connection; return for how long it waits for the rates, a window at most."""
        settings = self._settings
        limits: dict[str | bool, ListenerLimits] = {listener: settings.by_listener.get(listener, ListenerLimits())}
        if listener != settings.protected:
            limits[listener in settings.controllers] = settings.broker
        delay_ms = 0
        for key, limit in limits.items():
            rate = self._rates.setdefault(key, SampledRate(settings.windows))
            rate.record(1, now_ms)
            delay_ms = max(delay_ms, rate.throttle_ms(limit.creation_rate, now_ms))
        return min(delay_ms, settings.windows.size_ms)

    def _has_room(self, listener: str) -> bool:
        settings = self._settings
        own = settings.by_listener.get(listener, ListenerLimits())
        if self._by_listener[listener] >= own.max_connections:
            return False
        role = listener in settings.controllers
        return listener == settings.protected or self._by_role[role] < settings.broker.max_connections
