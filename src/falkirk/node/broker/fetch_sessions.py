"""Fetch sessions (KIP-227): a broker remembers a client's partitions, so that requests and responses have changes only.

A request either starts again (epoch 0, a session is made if there is room; epoch -1, none is) or continues a session,
whose epoch counts the requests. Partitions keep their order; one whose records were sent moves to the end, so that the
limit of a response's size starves none.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.node.broker.replication.fetch_params import FetchPartition  # noqa: TC001
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from falkirk.protocol.chance import Chance
    from falkirk.protocol.messages.fetch_response import PartitionData
    from falkirk.slices import Slices

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
# Kafka's, not configurable: sessions idle for longer may be evicted by any, older ones by larger ones.
EVICTION_MS: Final = 120_000
REMEMBERED_PER_SLICE: Final = 2_000
"""Partitions: some milliseconds."""

_EPOCH_MAX: Final = 2**31 - 1


class FetchPartitionKey(NamedTuple):
    """A partition as the request names its topic: by name (then `topic_id` is zero), or by id (then `topic` is "")."""

    topic_id: bytes
    topic: str
    partition: int


class FetchContext:
    """What one request fetches, and the response's form. Without a session everything is fetched and returned."""

    def __init__(
        self, partitions: Mapping[FetchPartitionKey, FetchPartition], *, error: ErrorCode = ErrorCode.NONE
    ) -> None:
        self.error = error
        """Why nothing is fetched; NONE if something is."""
        self._partitions = partitions
        self._names: Mapping[bytes, str] = {}

    def partitions(self, names: Mapping[bytes, str]) -> Iterator[tuple[FetchPartitionKey, str | None, FetchPartition]]:
        """Yield (key, name of the topic, what is fetched) in the order of fetching.

        `names`: of all topics, by id. The name is None if there is no topic of the id.
        """
        self._names = names
        for key, requested in self._partitions.items():
            yield key, self._name(key), requested

    def _name(self, key: FetchPartitionKey) -> str | None:
        return key.topic or self._names.get(key.topic_id)

    def answer_slices(self, results: dict[FetchPartitionKey, PartitionData]) -> Slices[FetchAnswer]:
        """Return what the response has of the results, and remember it in the session if there is one."""
        yield from ()
        return FetchAnswer(self.error, NO_SESSION, results)

    def throttled(self) -> FetchAnswer:
        """Return a response without results, of which the session remembers nothing."""
        return FetchAnswer(self.error, NO_SESSION, {})


class FetchAnswer(NamedTuple):
    """A response without its form on the wire."""

    error: ErrorCode
    session_id: int
    results: "Mapping[FetchPartitionKey, PartitionData]"


@dataclass(slots=True, kw_only=True)
class _CachedPartition:
    """What is fetched of a partition, and the offsets that the client got last.

    `topic`: the name since it was known. If the topic is deleted or recreated, the partition's error says so.
    """

    requested: FetchPartition
    topic: str | None = None
    high_watermark: int = -1
    log_start_offset: int = -1

    def update(self, data: PartitionData) -> bool:
        """Remember what the response has of a partition; return whether it must be included."""
        is_news = bool(
            data.records
            or data.error_code
            or data.high_watermark != self.high_watermark
            or data.log_start_offset != self.log_start_offset
            or data.preferred_read_replica != -1
            or data.diverging_epoch.epoch >= 0
        )
        # After an error or a divergence the partition is included again even if it has not changed: until then the
        # client cannot use the offsets.
        is_lost = data.error_code or data.diverging_epoch.epoch >= 0
        self.high_watermark = -1 if is_lost else data.high_watermark
        self.log_start_offset = data.log_start_offset
        return is_news


@dataclass(slots=True, kw_only=True, eq=False)
class FetchSession:
    """One client's partitions. `epoch`: that of its next request."""

    session_id: int
    is_privileged: bool
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    partitions: dict[FetchPartitionKey, _CachedPartition]
    epoch: int = 1
    # As of its last use, as in Kafka.
    is_evictable_by_all: bool = False

    @property
    def worth(self) -> tuple[bool, int, int]:
        """The order of eviction: the least is evicted first."""
        return self.is_privileged, len(self.partitions), self.session_id


class FetchSessions:
    """All sessions of a broker, at most `slots_max` (max.incremental.fetch.session.cache.slots).

    Differs from Kafka: since 3.9 it has eight caches with an eighth of the slots each, to reduce lock contention.
    """

    def __init__(self, slots_max: int, random: Chance) -> None:
        self._slots_max = slots_max
        self._random = random
        # Least recently used first.
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def partition_count(self, session_id: int) -> int:
        """Return how many partitions a session has; 0 if it does not exist."""
        session = self._sessions.get(session_id)
        return 0 if session is None else len(session.partitions)

    def get(self, session_id: int) -> FetchSession | None:
        """Return a session; None if it does not exist."""
        return self._sessions.get(session_id)

    def begin(
        self,
        *,
        session_id: int,
        epoch: int,
        partitions: dict[FetchPartitionKey, FetchPartition],
        forgotten: Iterable[FetchPartitionKey],
        uses_topic_ids: bool,
        is_follower: bool,
        now_ms: int,
    ) -> FetchContext:
        """Return the context of a request.

        Its error is FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, or FETCH_SESSION_TOPIC_ID_ERROR for a
        request that names topics by id in a session of names, or the other way round.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            # The session of the request ends.
            self._sessions.pop(session_id, None)
            if epoch == FINAL_EPOCH:
                return FetchContext(partitions)
            make = partial(self.create, uses_topic_ids=uses_topic_ids, is_follower=is_follower, now_ms=now_ms)
            return _FullContext(partitions, make)
        session = self._sessions.get(session_id)
        if session is None:
            return FetchContext({}, error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return FetchContext({}, error=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return FetchContext({}, error=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return self._continue(session, partitions, forgotten, now_ms)

    def create(
        self,
        partitions: dict[FetchPartitionKey, _CachedPartition],
        *,
        uses_topic_ids: bool,
        is_follower: bool,
        now_ms: int,
    ) -> int:
        """Make a session, evicting another if need be; return its id, or NO_SESSION if there is no room."""
        if len(self._sessions) >= self._slots_max and not self._evict((is_follower, len(partitions), 0), now_ms):
            return NO_SESSION
        session_id = self._new_id()
        self._sessions[session_id] = FetchSession(
            session_id=session_id,
            is_privileged=is_follower,
            uses_topic_ids=uses_topic_ids,
            created_ms=now_ms,
            last_used_ms=now_ms,
            partitions=partitions,
        )
        return session_id

    def _continue(
        self,
        session: FetchSession,
        partitions: Mapping[FetchPartitionKey, FetchPartition],
        forgotten: Iterable[FetchPartitionKey],
        now_ms: int,
    ) -> FetchContext:
        for key, requested in partitions.items():
            known = session.partitions.get(key)
            if known is None:
                session.partitions[key] = _CachedPartition(requested=requested)
            else:
                known.requested = requested
        for key in forgotten:
            session.partitions.pop(key, None)
        # Also of a session that ends: a request of it that waits must not be answered with partitions that are gone.
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchContext(partitions)
        session.last_used_ms = now_ms
        session.is_evictable_by_all = now_ms - session.created_ms > EVICTION_MS
        self._sessions.move_to_end(session.session_id)
        return _IncrementalContext(session)

    def _evict(self, newcomer: tuple[bool, int, int], now_ms: int) -> bool:
        """Make room for a session of this worth: evict a stale one, else the one worth least if it is worth less."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.last_used_ms > EVICTION_MS:
            del self._sessions[oldest.session_id]
            return True
        is_privileged = newcomer[0]
        evictable = [
            session.worth
            for session in self._sessions.values()
            if session.is_evictable_by_all or (is_privileged and not session.is_privileged)
        ]
        least = min(evictable, default=None)
        if least is None or newcomer < least:
            return False
        del self._sessions[least[2]]
        return True

    def _new_id(self) -> int:
        while True:
            session_id = self._random.randrange(1, 2**31)
            if session_id not in self._sessions:
                return session_id


class _FullContext(FetchContext):
    """A request that begins a session: everything is returned, and the session is made of it."""

    def __init__(
        self,
        partitions: Mapping[FetchPartitionKey, FetchPartition],
        make_session: Callable[[dict[FetchPartitionKey, _CachedPartition]], int],
    ) -> None:
        super().__init__(partitions)
        self._make_session = make_session

    def answer_slices(self, results: dict[FetchPartitionKey, PartitionData]) -> Slices[FetchAnswer]:
        cached: dict[FetchPartitionKey, _CachedPartition] = {}
        for key, data in results.items():
            cached[key] = _CachedPartition(
                requested=self._partitions[key],
                topic=self._name(key),
                high_watermark=data.high_watermark,
                log_start_offset=data.log_start_offset,
            )
            if len(cached) % REMEMBERED_PER_SLICE == 0:
                yield
        return FetchAnswer(ErrorCode.NONE, self._make_session(cached), results)


class _IncrementalContext(FetchContext):
    """A request of a session: all its partitions are fetched, and changes returned."""

    def __init__(self, session: FetchSession) -> None:
        super().__init__({})
        self._session = session
        self._epoch = session.epoch

    def partitions(self, names: Mapping[bytes, str]) -> Iterator[tuple[FetchPartitionKey, str | None, FetchPartition]]:
        # Another request may change the session before this one has come to its end.
        for key, cached in [*self._session.partitions.items()]:
            if cached.topic is None:
                cached.topic = key.topic or names.get(key.topic_id)
            yield key, cached.topic, cached.requested

    def throttled(self) -> FetchAnswer:
        return FetchAnswer(ErrorCode.NONE, self._session.session_id, {})

    def answer_slices(self, results: dict[FetchPartitionKey, PartitionData]) -> Slices[FetchAnswer]:
        session = self._session
        changed = {}
        for number, (key, result) in enumerate(results.items()):
            if number and number % REMEMBERED_PER_SLICE == 0:
                yield
            if session.epoch != self._epoch:
                break
            cached = session.partitions[key]
            if cached.update(result):
                changed[key] = result
                if result.records:
                    del session.partitions[key]
                    session.partitions[key] = cached
        if session.epoch != self._epoch:
            # Another request of the session overtook this one.
            return FetchAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id, {})
        return FetchAnswer(ErrorCode.NONE, session.session_id, changed)
