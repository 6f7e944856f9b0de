"""Fetch sessions (KIP-227): a broker keeps what a client fetches, so that requests and answers tell changes only.

A request either begins anew (epoch 0, a session is made if there is room; epoch -1, none is) or goes on in a session,
whose epoch counts the requests. Partitions keep the order in which they came; one whose data was sent goes to the end,
so that the limit of an answer's bytes starves none.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from falkirk.node.replication.fetch_params import FetchPartition
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.messages.fetch_response import PartitionData

NO_SESSION: Final = 0
INITIAL_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
# Kafka's, not configurable: how long a session is safe from larger ones, and after what silence from none.
EVICTION_MS: Final = 120_000

_EPOCH_MAX: Final = 2**31 - 1


class PartitionKey(NamedTuple):
    """A partition as the request names its topic: by name (then `topic_id` is zero), or by id (then `topic` is "")."""

    topic_id: bytes
    topic: str
    partition: int


class FetchContext:
    """What one request fetches, and how its answer becomes the client's: all is asked for, all is told."""

    def __init__(self, partitions: Mapping[PartitionKey, FetchPartition], *, error: ErrorCode = ErrorCode.NONE) -> None:
        self.error = error
        """Why nothing is fetched at all."""
        self._partitions = partitions
        self._names: Mapping[bytes, str] = {}

    def partitions(self, names: Mapping[bytes, str]) -> Iterator[tuple[PartitionKey, str | None, FetchPartition]]:
        """Give (key, name of the topic, what is asked) in the order in which it is fetched.

        `names`: of all topics, by id. The name is None if there is no topic of the id.
        """
        self._names = names
        for key, asked in self._partitions.items():
            yield key, self._name(key), asked

    def _name(self, key: PartitionKey) -> str | None:
        return key.topic or self._names.get(key.topic_id)

    def answer(self, results: dict[PartitionKey, PartitionData]) -> FetchAnswer:
        """Give what is told of the results, and remember it where there is a session."""
        return FetchAnswer(self.error, NO_SESSION, results)


class FetchAnswer(NamedTuple):
    """An answer without its form on the wire."""

    error: ErrorCode
    session_id: int
    results: Mapping[PartitionKey, PartitionData]


@dataclass(slots=True, kw_only=True)
class _CachedPartition:
    """What is asked of a partition, and the offsets that the client was told last.

    `topic`: the name once it was known: that the topic is gone, or made anew, shows in the answer for the partition.
    """

    asked: FetchPartition
    topic: str | None = None
    high_watermark: int = -1
    log_start_offset: int = -1

    def take(self, told: PartitionData) -> bool:
        """Say whether the client must be told, and remember that it was."""
        is_news = bool(
            told.records
            or told.error_code
            or told.high_watermark != self.high_watermark
            or told.log_start_offset != self.log_start_offset
            or told.preferred_read_replica != -1
            or told.diverging_epoch.epoch >= 0
        )
        # After an error, or when the log is cut where it diverges, the partition is told anew, though nothing else has
        # changed: until then the client can do nothing with what it is told.
        is_lost = told.error_code or told.diverging_epoch.epoch >= 0
        self.high_watermark = -1 if is_lost else told.high_watermark
        self.log_start_offset = told.log_start_offset
        return is_news


@dataclass(slots=True, kw_only=True, eq=False)
class FetchSession:
    """One client's partitions. `epoch`: what its next request must have."""

    session_id: int
    is_privileged: bool
    uses_topic_ids: bool
    created_ms: int
    last_used_ms: int
    partitions: dict[PartitionKey, _CachedPartition]
    epoch: int = 1
    # As of its last use, as Kafka compares them.
    is_evictable_by_all: bool = False

    @property
    def worth(self) -> tuple[bool, int, int]:
        """What decides which of two stays."""
        return self.is_privileged, len(self.partitions), self.session_id


class FetchSessions:
    """All sessions of a broker, at most `slots_max` (max.incremental.fetch.session.cache.slots).

    Differs from Kafka: since 3.9 it keeps eight caches with an eighth of the slots each, to have less of a lock.
    """

    def __init__(self, slots_max: int, random: Chance) -> None:
        self._slots_max = slots_max
        self._random = random
        # The one that was silent longest comes first.
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        """Count the sessions."""
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        """Give a session, None if it is not there (any more)."""
        return self._sessions.get(session_id)

    def begin(
        self,
        *,
        session_id: int,
        epoch: int,
        partitions: dict[PartitionKey, FetchPartition],
        forgotten: Iterable[PartitionKey],
        uses_topic_ids: bool,
        is_follower: bool,
        now_ms: int,
    ) -> FetchContext:
        """Say what a request fetches.

        FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, and FETCH_SESSION_TOPIC_ID_ERROR for a request that
        names topics by id in a session of names, or the other way round.
        """
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            # Whatever session is named ends.
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
        return self._go_on(session, partitions, forgotten, now_ms)

    def create(
        self,
        partitions: dict[PartitionKey, _CachedPartition],
        *,
        uses_topic_ids: bool,
        is_follower: bool,
        now_ms: int,
    ) -> int:
        """Make a session if there is room, or one that is worth less; give its id, else NO_SESSION."""
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

    def _go_on(
        self,
        session: FetchSession,
        partitions: Mapping[PartitionKey, FetchPartition],
        forgotten: Iterable[PartitionKey],
        now_ms: int,
    ) -> FetchContext:
        for key, asked in partitions.items():
            known = session.partitions.get(key)
            if known is None:
                session.partitions[key] = _CachedPartition(asked=asked)
            else:
                known.asked = asked
        for key in forgotten:
            session.partitions.pop(key, None)
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchContext(partitions)
        session.last_used_ms = now_ms
        session.is_evictable_by_all = now_ms - session.created_ms > EVICTION_MS
        self._sessions.move_to_end(session.session_id)
        session.epoch = 1 if session.epoch == _EPOCH_MAX else session.epoch + 1
        return _IncrementalContext(session)

    def _evict(self, newcomer: tuple[bool, int, int], now_ms: int) -> bool:
        """Make room for a session of this worth: a stale one goes first, else the one worth least, if it is less."""
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
    """A request that begins a session: all is told, and the session made of it."""

    def __init__(
        self,
        partitions: Mapping[PartitionKey, FetchPartition],
        make_session: Callable[[dict[PartitionKey, _CachedPartition]], int],
    ) -> None:
        super().__init__(partitions)
        self._make_session = make_session

    def answer(self, results: dict[PartitionKey, PartitionData]) -> FetchAnswer:
        cached = {
            key: _CachedPartition(
                asked=self._partitions[key],
                topic=self._name(key),
                high_watermark=told.high_watermark,
                log_start_offset=told.log_start_offset,
            )
            for key, told in results.items()
        }
        return FetchAnswer(ErrorCode.NONE, self._make_session(cached), results)


class _IncrementalContext(FetchContext):
    """A request in a session: all of it is fetched, and told what has changed."""

    def __init__(self, session: FetchSession) -> None:
        super().__init__({})
        self._session = session
        self._epoch = session.epoch

    def partitions(self, names: Mapping[bytes, str]) -> Iterator[tuple[PartitionKey, str | None, FetchPartition]]:
        for key, cached in self._session.partitions.items():
            if cached.topic is None:
                cached.topic = key.topic or names.get(key.topic_id)
            yield key, cached.topic, cached.asked

    def answer(self, results: dict[PartitionKey, PartitionData]) -> FetchAnswer:
        session = self._session
        if session.epoch != self._epoch:
            # Another request of the session came while this one waited.
            return FetchAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id, {})
        told = {}
        for key, result in results.items():
            cached = session.partitions[key]
            if cached.take(result):
                told[key] = result
                if result.records:
                    del session.partitions[key]
                    session.partitions[key] = cached
        return FetchAnswer(ErrorCode.NONE, session.session_id, told)
