"""A partition of a coordinator's topic that this broker leads: its shard, pending records and pending responses.

The shard has the state at the end of its log. What a step decides becomes one batch, appended at the end of the step;
responses are sent when the log is committed up to its end at the time they were made. So no response depends on records
that may be lost. Records that the log would refuse, or that have no bytes, are refused before they are replayed; if one
is refused after all, or code of ours fails, the shard is dropped and loaded again. Source: CoordinatorRuntime. Differs
from Kafka: there is no state of the committed part beside that of the end, so reads wait as writes do.
"""

from __future__ import annotations

import enum
from functools import partial
from traceback import format_exc
from typing import TYPE_CHECKING, Final, Generic

from msgspec.structs import replace

from falkirk.coordinator.runtime.outcome import Outcome, Reply
from falkirk.node.broker.coordinator_runtime.coordinator_shard import CoordinatorShard, S
from falkirk.node.broker.coordinator_runtime.operation_error import operation_error
from falkirk.node.broker.coordinator_runtime.record_batches import PendingBatch, RecordEncoder
from falkirk.node.broker.coordinator_runtime.shard_load import ShardLoad
from falkirk.node.broker.replication.replica_manager import ReplicaManager  # noqa: TC001
from falkirk.node.effects import Fact
from falkirk.node.step import Step  # noqa: TC001
from falkirk.protocol.compression import Compression  # noqa: TC001
from falkirk.protocol.error_codes import NO_ERROR, ErrorCode
from falkirk.protocol.errors import LocalProtocolError
from falkirk.storage.log.append import AppendOrigin
from falkirk.storage.log.verification import UNVERIFIED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from falkirk.coordinator.runtime.outcome import CoordinatorRecord, KeyAndValue, Producer, Token
    from falkirk.coordinator.runtime.transaction_markers import TransactionMarkers
    from falkirk.node.broker.coordinator_runtime.shard_load import ShardLoader
    from falkirk.node.broker.replication.answers import PartitionProduced
    from falkirk.node.effects import Effect
    from falkirk.node.sliced_work import SlicedWork, Slices
    from falkirk.protocol.schema import WireStruct
    from falkirk.protocol.topic_partition import TopicIdPartition
    from falkirk.storage.log.unified_log import UnifiedLog

    Done: TypeAlias = Callable[[WireStruct | ErrorCode], None]

PIECE_BYTES: Final = 128 * 1024
"""How much of a log is loaded in one step: replaying it takes some ten milliseconds."""
REPLIES_AT_ONCE: Final = 500
"""How many operations of a batch are answered in one step: some 5 ms."""
MARKERS_RETRY_MS: Final = 500
"""How long markers wait if their decision was not committed in time."""
FAULTS_MAX: Final = 3
"""How often a shard is dropped in one leadership before it is given up."""
_LEADER_ONLY: Final = 1


class HostState(enum.StrEnum):
    """Kafka's CoordinatorState; a shard that is not loaded yet is LOADING."""

    LOADING = "Loading"
    ACTIVE = "Active"
    FAILED = "Failed"
    CLOSED = "Closed"


class HostContext(Generic[S]):  # mypyc makes no dataclass of a generic class
    """What all hosted shards of a coordinator share.

    `name` begins the names of its facts: "group-coordinator". `make_shard` makes an empty shard for a leader epoch, and
    `make_loader` what reads its log; `enter` brings a shard's context up to the time of the step and the newest
    metadata. `touch` gets a shard that must end the step, `send_markers` markers whose decision is committed.
    """

    def __init__(
        self,
        *,
        name: str,
        step: Step,
        replicas: ReplicaManager,
        effects: Callable[[Effect], None],
        make_shard: Callable[[int], S],
        make_loader: Callable[[S], ShardLoader],
        enter: Callable[[S], None],
        touch: Callable[[HostedShard[S]], None],
        send_markers: Callable[[HostedShard[S], S, Sequence[TransactionMarkers]], None],
        encoder: RecordEncoder,
        compression: Compression,
        commit_timeout_ms: int,
    ) -> None:
        self.name = name
        self.step = step
        self.replicas = replicas
        self.effects = effects
        self.make_shard = make_shard
        self.make_loader = make_loader
        self.enter = enter
        self.touch = touch
        self.send_markers = send_markers
        self.encoder = encoder
        self.compression = compression
        self.commit_timeout_ms = commit_timeout_ms


class HostedShard(Generic[S]):
    """`leader_epoch`: that of this broker's leadership. Callers call `end_step` before the step ends."""

    def __init__(self, key: TopicIdPartition, leader_epoch: int, context: HostContext[S]) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.state = HostState.LOADING
        self._context = context
        self._partition = key.topic_partition
        self._shard: S | None = None
        # Set while the log is read.
        self._load: ShardLoad | None = None
        self._work: SlicedWork | None = None
        self._load_began_ms = 0
        self._faults = 0
        self._next_token = 0
        self._waiting: dict[Token, Done] = {}
        self._pending = PendingBatch(context.compression)
        self._replies: list[Reply] = []
        self._markers: list[TransactionMarkers] = []
        # Groups whose too large records were logged.
        self._logged_too_large: set[str] = set()
        # What was to be run while the log is read.
        self._deferred: list[Callable[[S], Outcome]] = []
        self.load()

    # --- Life

    def load(self) -> None:
        """Start with an empty shard, and read the log."""
        context = self._context
        self.state = HostState.LOADING
        self._shard = shard = context.make_shard(self.leader_epoch)
        self._load = load = ShardLoad(context.make_loader(shard))
        self._load_began_ms = context.step.now_ms
        self._pending = PendingBatch(context.compression)
        self._replies, self._markers = [], []
        context.step.works.start(f"load {self._partition}", self._load_slices(shard, load))

    def close(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Unload the shard; waiting operations get the error."""
        self._leave(HostState.CLOSED, error)

    @property
    def shard(self) -> S | None:
        """The shard if it is active, else None."""
        return self._shard if self.state is HostState.ACTIVE else None

    @property
    def next_due_ms(self) -> int | None:
        """When the next timer is due."""
        shard = self.shard
        return None if shard is None else shard.context.timers.next_due_ms

    # --- What happens

    def schedule(self, operation: Callable[[S, Token], Outcome], done: Done) -> None:
        """Run an operation; `done` gets the response, or the error of the log, once and perhaps much later."""
        shard = self.shard
        if shard is None:
            done(self.inactive_error)
            return
        self._next_token += 1
        token = self._next_token
        self._waiting[token] = done
        self._run(partial(operation, shard, token), token)

    @property
    def inactive_error(self) -> ErrorCode:
        """The error of operations while the shard is not active."""
        is_loading = self.state is HostState.LOADING
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if is_loading else ErrorCode.NOT_COORDINATOR

    def run_timers(self, timers_max: int) -> int:
        """Run timers that are due; return how many."""
        for number in range(timers_max):
            shard = self.shard
            if shard is None:
                return number
            now_ms = self._context.step.now_ms
            self._context.enter(shard)
            action = shard.context.timers.pop_due(now_ms)
            if action is None:
                return number
            self._run(action)
        return timers_max

    def run(self, action: Callable[[S], Outcome]) -> None:
        """Run what no client has requested, when the log is read; nothing if the shard has failed."""
        shard = self.shard
        if shard is not None:
            self._run(partial(action, shard))
        elif self.state is HostState.LOADING:
            self._deferred.append(action)

    def append_marker(
        self,
        marker: bytes,
        apply: Callable[[S], None],
        done: Callable[[ErrorCode], None],
        *,
        transaction_version: int,
    ) -> None:
        """Append a batch of its own that ends a transaction, and apply it; `done` waits until it is committed."""
        shard = self.shard
        if shard is None:
            done(self.inactive_error)
            return
        log = self._writable_log()
        error = log if isinstance(log, ErrorCode) else self._flush()
        if error is NO_ERROR:
            error = self._append(marker, transaction_version=transaction_version)
        if error is not NO_ERROR:
            done(error)
            return

        def end() -> Outcome:
            apply(shard)
            return Outcome()

        self._run(end)
        self._when_committed(done)

    def end_step(self) -> None:
        """Append what the step has decided; its responses wait until that is committed."""
        shard = self.shard
        if shard is not None and shard.context.slices and (self._work is None or self._work.is_finished):
            works = self._context.step.works
            self._work = works.start(f"work in {self._partition}", self._work_slices(shard))
        if self._flush() is not NO_ERROR:
            return
        if self._replies:
            replies, self._replies = self._replies, []
            self._when_committed(partial(self._answer_all, replies))
        if self._markers and shard is not None:
            markers, self._markers = self._markers, []
            self._when_committed(partial(self._send_markers, shard, markers))

    # --- Slices

    def _load_slices(self, shard: S, load: ShardLoad) -> Slices:
        """Read the log; then begin to coordinate. Both end if the shard is closed, or loaded again."""
        while self._load is load and not load.is_done:
            self._read_piece(load)
            yield
        loaded = shard.loaded()
        while self._load is load:
            self._context.enter(shard)
            try:
                next(loaded)
            except StopIteration as end:
                self._begin(load, end.value)
                self._context.touch(self)
                return
            except Exception:  # noqa: BLE001 - as below
                self._fail(load.next_offset, format_exc())
                return
            yield

    def _read_piece(self, load: ShardLoad) -> None:
        log = self._context.replicas.leader_log(self._partition)
        if isinstance(log, ErrorCode):
            self._fail(load.next_offset, log.name)
            return
        try:
            failure = load.read_piece(log, PIECE_BYTES)
        except OSError as error:
            self._context.replicas.disk_failed(log, error)
            self._fail(load.next_offset, str(error))
            return
        except Exception:  # noqa: BLE001 - a fault of ours costs this partition, not the node
            self._fail(load.next_offset, format_exc())
            return
        if failure is not None:
            self._fail(failure.offset, failure.reason)

    def _work_slices(self, shard: S) -> Slices:
        """Go on with the shard's own work, as long as there is any."""
        slices = shard.context.slices
        while self.shard is shard and slices:
            self._run(slices.pop(next(iter(slices))))
            self._context.touch(self)
            yield

    # --- Inside

    def _begin(self, load: ShardLoad, outcome: Outcome) -> None:
        self.state = HostState.ACTIVE
        self._load = None
        duration_ms = self._context.step.now_ms - self._load_began_ms
        self._emit("info", f"{self._context.name}-loaded", {"records": load.record_count, "ms": duration_ms})
        for type_, count in sorted(load.unknown_types.items()):
            self._emit("warning", "unknown-records-skipped", {"record_type": type_, "records": count})
        self._run(lambda: outcome)
        deferred, self._deferred = self._deferred, []
        for action in deferred:
            self.run(action)

    def _fail(self, offset: int, reason: str) -> None:
        self._emit("error", f"{self._context.name}-failed", {"offset": offset, "reason": reason})
        self._leave(HostState.FAILED, ErrorCode.NOT_COORDINATOR)

    def _leave(self, state: HostState, error: ErrorCode) -> None:
        self.state = state
        self._shard = self._load = None
        self._pending = PendingBatch(self._context.compression)
        self._replies, self._markers = [], []
        waiting, self._waiting = self._waiting, {}
        for done in waiting.values():
            done(error)

    def _lose(self, error: ErrorCode) -> None:
        """Drop a shard whose state differs from its log; load it again unless that has happened FAULTS_MAX times."""
        self._faults += 1
        self._leave(HostState.FAILED, error)
        if self._faults < FAULTS_MAX:
            self.load()

    def _run(self, action: Callable[[], Outcome], token: Token | None = None) -> None:
        shard = self._shard
        assert shard is not None, "it coordinates"
        self._context.enter(shard)
        try:
            self._accept(shard, action(), token)
        except Exception:  # noqa: BLE001 - as in the dispatcher: log it, answer, and drop the shard
            self._emit("error", f"{self._context.name}-broke", {"traceback": format_exc()})
            done = None if token is None else self._waiting.pop(token, None)
            self._lose(ErrorCode.NOT_COORDINATOR)
            if done is not None:
                done(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _accept(self, shard: S, outcome: Outcome, token: Token | None) -> None:
        if outcome.records:
            error = self._write(shard, outcome)
            if error is not NO_ERROR:
                self._refuse(outcome, token, error)
                return
        self._replies += outcome.replies
        self._markers += outcome.markers
        if outcome.on_written is not None:
            self._replies += outcome.on_written()

    def _refuse(self, outcome: Outcome, token: Token | None, error: ErrorCode) -> None:
        if token is None and error is ErrorCode.MESSAGE_TOO_LARGE:
            # A timer has no client to answer, and is retried again and again.
            self._log_too_large(outcome)
        if outcome.on_refused is not None:
            self._replies += outcome.on_refused(operation_error(error))
        elif token is not None and (done := self._waiting.pop(token, None)) is not None:
            done(error)

    def _log_too_large(self, outcome: Outcome) -> None:
        key = outcome.records[0].key
        group_id = str(getattr(key, "group_id", None) or getattr(key, "group", ""))
        if group_id not in self._logged_too_large:
            self._logged_too_large.add(group_id)
            reason = f"{len(outcome.records)} records of group {group_id} are too large for the log as one batch"
            self._emit("error", f"{self._context.name}-refused", {"reason": reason})

    def _write(self, shard: S, outcome: Outcome) -> ErrorCode:
        """Replay records and add them to the step's batch, all or none."""
        log = self._writable_log()
        if isinstance(log, ErrorCode):
            return log
        records = shard.as_written(outcome.records)
        if records is not outcome.records:
            outcome = replace(outcome, records=records)
        try:
            entries = self._context.encoder.encode(outcome.records)
        except LocalProtocolError as unwritable:
            # As a member id that is made of a client id of the largest length.
            self._emit("warning", f"{self._context.name}-refused", {"reason": str(unwritable)})
            return ErrorCode.UNKNOWN_SERVER_ERROR
        size_max = log.config.max_message_bytes
        if outcome.producer is not None:
            return self._write_transactional(shard, outcome, log, entries)
        bodies = self._pending.bodies(entries)
        if self._pending.size + sum(map(len, bodies)) > size_max:
            if (flushed := self._flush()) is not NO_ERROR:
                return flushed
            bodies = self._pending.bodies(entries)
            if self._pending.size + sum(map(len, bodies)) > size_max:
                return ErrorCode.MESSAGE_TOO_LARGE
        first_offset = log.log_end_offset + len(self._pending)
        self._pending.add(bodies)
        if outcome.is_replayed:
            _replay(shard, zip(outcome.records, entries, strict=True), first_offset, None)
        return NO_ERROR

    def _write_transactional(
        self, shard: S, outcome: Outcome, log: UnifiedLog, entries: Sequence[KeyAndValue]
    ) -> ErrorCode:
        """Append a batch of its own at once: only the log knows whether its producer may write."""
        if (error := self._flush()) is not NO_ERROR:
            return error
        batch = PendingBatch(self._context.compression)
        batch.add(batch.bodies(entries))
        if batch.size > log.config.max_message_bytes:
            return ErrorCode.MESSAGE_TOO_LARGE
        first_offset = log.log_end_offset
        error = self._append(batch.build(self._context.step.now_ms, outcome.producer), guard=outcome.guard)
        if error is NO_ERROR:
            _replay(shard, zip(outcome.records, entries, strict=True), first_offset, outcome.producer)
        return error

    def _flush(self) -> ErrorCode:
        """Append the step's batch; if the log refuses it, the shard is lost."""
        if not len(self._pending):
            return NO_ERROR
        error = self._append(self._pending.build(self._context.step.now_ms))
        if error is not NO_ERROR:
            self._emit("error", f"{self._context.name}-refused", {"reason": f"the log refused records: {error.name}"})
            self._lose(error)
        return error

    def _append(self, batch: bytes, *, guard: int = UNVERIFIED, transaction_version: int = 0) -> ErrorCode:
        """Append; the minimum ISR was checked before, and responses wait for the replicas together."""
        error = NO_ERROR

        def done(produced: Mapping[TopicIdPartition, PartitionProduced]) -> None:
            nonlocal error
            error = produced[self.key].error_code

        self._context.replicas.append_records(
            {self.key: batch},
            required_acks=_LEADER_ONLY,
            timeout_ms=0,
            origin=AppendOrigin.OWN,
            are_internal_topics_allowed=True,
            guards={self.key: guard},
            transaction_version=transaction_version,
            done=done,
        )
        return error

    def _writable_log(self) -> UnifiedLog | ErrorCode:
        partition = self._context.replicas.partition(self._partition)
        if isinstance(partition, ErrorCode):
            return partition
        if partition.leader_log is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        error = partition.min_isr_error()
        return partition.leader_log if error is NO_ERROR else error

    def _when_committed(self, done: Callable[[ErrorCode], None]) -> None:
        self._context.replicas.await_replicated(self.key, timeout_ms=self._context.commit_timeout_ms, done=done)

    def _answer_all(self, replies: Sequence[Reply], error: ErrorCode) -> None:
        if len(replies) > REPLIES_AT_ONCE:
            # As when thousands of members of a group have waited for the last one.
            self._context.step.works.begin(f"answers of {self._partition}", self._answer_slices(replies, error))
        else:
            self._answer(replies, error)

    def _answer_slices(self, replies: Sequence[Reply], error: ErrorCode) -> Slices:
        for at in range(0, len(replies), REPLIES_AT_ONCE):
            self._answer(replies[at : at + REPLIES_AT_ONCE], error)
            yield

    def _answer(self, replies: Iterable[Reply], error: ErrorCode) -> None:
        for reply in replies:
            done = self._waiting.pop(reply.token, None)
            # Missing if the shard was dropped: that was its answer.
            if done is not None:
                done(reply.response if error is NO_ERROR else error)

    def _send_markers(self, shard: S, markers: Sequence[TransactionMarkers], error: ErrorCode) -> None:
        """Send markers that are committed. What is not yet committed is tried again: no client asks for it."""
        if self.shard is not shard:
            return
        if error is NO_ERROR:
            self._context.send_markers(self, shard, markers)
            return
        due_ms = self._context.step.now_ms + MARKERS_RETRY_MS
        shard.context.timers.schedule(f"markers of {id(markers)}", due_ms, partial(Outcome, markers=markers))
        self._context.touch(self)

    def _emit(self, level: str, event: str, fields: Mapping[str, object]) -> None:
        self._context.effects(Fact(level, event, {"partition": str(self._partition), **fields}))


def _replay(
    shard: CoordinatorShard,
    records: Iterable[tuple[CoordinatorRecord, KeyAndValue]],
    first_offset: int,
    producer: Producer | None,
) -> None:
    for offset, (record, data) in enumerate(records, first_offset):
        shard.replay(record, data, offset=offset, producer=producer)
