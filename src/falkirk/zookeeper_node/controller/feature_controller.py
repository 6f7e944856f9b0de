"""The elected controller's work on features: it alone writes the znode of finalized features.

One queue orders changes of brokers and requested updates, and one task runs at a time: read the znode, decide, write if
anything has changed. The next task starts when the outcome of the write is known. So a broker whose registration is
checked after a level rose above what it supports is ignored (KIP-584, incompatible broker lifetime race condition); it
finds out by itself that it must shut down.

A response is exact (KIP-584, guarantees): success once the write stands, REQUEST_TIMED_OUT if the outcome is unknown,
any other top-level error if nothing was written. Nothing is written for a request that has been answered.

Differs from Kafka: writes are conditional and fenced; a min level follows the brokers; an update is decided on what is
read at that time, not on a cache.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.feature_deprecation import raise_minimums
from falkirk.metadata.zookeeper.feature_update import decide_update
from falkirk.metadata.zookeeper.features_znode import decode_features, encode_features
from falkirk.metadata.zookeeper.finalized_features import DISABLED, elected_state, incompatibilities
from falkirk.node.effects import Fact
from falkirk.protocol.error_codes import ErrorCode
from falkirk.zookeeper_node.controller.feature_tasks import LATE, NOT_CONTROLLER, UNKNOWN, Check, Update
from falkirk.zookeeper_node.controller.fenced_write import Fate, FencedWrite
from falkirk.zookeeper_node.session.operations import Failed, GetData, KeeperError, Znode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import FeatureState, Supported
    from falkirk.node.effects import Effect
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.zookeeper_node.controller.fenced_write import WriteOutcome
    from falkirk.zookeeper_node.session.operations import Answer
    from falkirk.zookeeper_node.session.session import Session

# The connection or the session was lost, or accepts no writes: repeated when it does, if still needed.
_INTERRUPTED: Final = (KeeperError.CONNECTION_LOSS, KeeperError.SESSION_EXPIRED, KeeperError.READ_ONLY)
_IGNORED: Final = "Ignoring registration of new brokers due to incompatibilities with finalized features"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSettings:
    """The controller's own configuration.

    `path`: of the znode of finalized features. `supports_features`: inter.broker.protocol.version is at or above the
    migration's. `supported`: what this node supports. `writes_kip_778`: write max levels only.
    """

    path: str
    supports_features: bool
    supported: "Supported"
    writes_kip_778: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster in the caches of the controller's node.

    `brokers`: what each registered broker supports, by id; None until it is known. `silent`: those of them that
    advertise nothing, as their inter.broker.protocol.version is below the migration's. `when_epoch`: calls back as soon
    as the node's cache has this version of the features znode, or a later one. `last_epoch`: the highest version that
    the node has seen, -1: none.
    """

    brokers: "Callable[[], Mapping[int, Supported] | None]"
    silent: "Callable[[], frozenset[int]]"
    last_epoch: "Callable[[], int]"
    when_epoch: "Callable[[int, Callable[[], None]], None]"


class FeatureController:
    """Lives from an election to the resignation, and until a write in flight is answered."""

    def __init__(
        self,
        session: Session,
        settings: FeatureSettings,
        cluster: ClusterView,
        *,
        epoch_version: int,
        fenced: Callable[[], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._settings = settings
        self._cluster = cluster
        self._epoch_version = epoch_version
        self._fenced = fenced
        self._effects = effects
        self._queue: deque[Check | Update] = deque([Check()])
        self._task: Check | Update | None = None
        # The task's read is in flight.
        self._is_reading = False
        self._write: FencedWrite | None = None
        # Updates that are written, but not yet in the node's own cache.
        self._written: list[Update] = []
        self._registered: Mapping[int, Supported] = {}
        self._silent: frozenset[int] = frozenset()
        self._ignored: tuple[int, ...] = ()
        self._trouble: str | None = None
        self._is_set_up = False
        self._is_retired = False

    @property
    def is_done(self) -> bool:
        """True if it has resigned and no request waits for a response."""
        return self._is_retired and self._task is None

    @property
    def next_wakeup_ms(self) -> int | None:
        """The earliest deadline of a waiting request."""
        return min((update.deadline_ms for update in self._unanswered()), default=None)

    def advance(self) -> None:
        """Start the next task, or resume one that a lost connection has interrupted, if possible now.

        Call this after the election, whenever the session is connected again, and when brokers become known.
        """
        if self._write is not None:
            self._write.advance()
        elif self._task is not None:
            self._read()
        elif self._queue and not self._is_retired:
            registered = self._cluster.brokers()
            if registered is not None:
                self._begin(self._queue.popleft(), registered)

    def recheck(self) -> None:
        """Queue a check after brokers or the features znode have changed."""
        if not (self._queue and isinstance(self._queue[-1], Check)):
            self._queue.append(Check())
        self.advance()

    def update(
        self,
        request: UpdateFeaturesRequest,
        api_version: int,
        answer: Callable[[UpdateFeaturesResponse], None],
        now_ms: int,
    ) -> None:
        """Queue an update; `answer` is called once, within the request's timeoutMs."""
        assert not self._is_retired, "a resigned controller gets no requests"
        update = Update(request, api_version, answer, now_ms + request.timeout_ms)
        if request.timeout_ms <= 0:
            update.refuse(LATE)
        else:
            self._queue.append(update)
            self.advance()

    def tick(self, now_ms: int) -> None:
        """Answer requests that have timed out."""
        for update in [update for update in self._unanswered() if now_ms >= update.deadline_ms]:
            if update in self._written:
                # Success means that it is written; only this node's cache lags.
                self._is_cached(update)
            else:
                self._time_out(update)
        self.advance()

    def retire(self) -> None:
        """Resign: nothing new starts. A write in flight is awaited, unless the session has expired."""
        self._is_retired = True
        queue, self._queue = self._queue, deque()
        for task in queue:
            if isinstance(task, Update):
                task.refuse(NOT_CONTROLLER)
        for update in list(self._written):
            self._is_cached(update)
        if self._write is not None:
            self._write.give_up()
        elif self._task is not None:
            self._end(NOT_CONTROLLER)

    def _unanswered(self) -> list[Update]:
        tasks = (self._task, *self._queue, *self._written)
        return [task for task in tasks if isinstance(task, Update) and not task.is_answered]

    def _time_out(self, update: Update) -> None:
        if update is not self._task:
            self._queue.remove(update)
            update.refuse(LATE)
        elif self._write is None:
            self._end(LATE)
        else:
            update.refuse(UNKNOWN)
            self._write.give_up()

    def _begin(self, task: Check | Update, registered: Mapping[int, Supported]) -> None:
        self._task = task
        if isinstance(task, Check):
            self._registered, self._silent = registered, self._cluster.silent()
        self._read()

    # --- Reading

    def _read(self) -> None:
        if not self._is_reading and self._session.is_connected:
            self._is_reading = True
            self._session.send(GetData(self._settings.path), partial(self._have_read, self._task))

    def _have_read(self, task: Check | Update | None, answer: Answer) -> None:
        self._is_reading = False
        if task is not self._task:
            # It was given up meanwhile; the next task has waited for this read.
            self.advance()
        elif isinstance(answer, Znode):
            self._have_znode(answer)
        elif isinstance(answer, Failed) and answer.refusal is KeeperError.NO_NODE:
            self._have_state(None, None)
        elif isinstance(answer, Failed) and answer.refusal in _INTERRUPTED:
            self.advance()
        else:
            assert isinstance(answer, Failed), "GetData is answered by a Znode, or fails"
            self._end_in_trouble(f"znode {self._settings.path}: it cannot be read: {_reason(answer)}")

    def _have_znode(self, znode: Znode) -> None:
        try:
            state = decode_features(znode.data, self._settings.path)
        except ZnodeError as error:
            self._end_in_trouble(f"{error}; it is not written over")
        else:
            self._have_state(znode, state)

    def _have_state(self, znode: Znode | None, state: FeatureState | None) -> None:
        """Decide on the state that was read."""
        if znode is None and self._is_set_up:
            # As in Kafka the next controller recreates it: a guess could finalize levels that nobody requested.
            self._end_in_trouble(
                f"znode {self._settings.path}: it has been deleted; the next controller creates it again"
            )
            return
        if isinstance(self._task, Update):
            self._decide(self._task, znode, state)
        else:
            self._check(znode, state)

    # --- Deciding

    def _check(self, znode: Znode | None, state: FeatureState | None) -> None:
        settings = self._settings
        wanted = elected_state(state, supports_features=settings.supports_features, supported=settings.supported)
        live = self._live(wanted)
        ignored = tuple(sorted(self._registered.keys() - live.keys()))
        if ignored and ignored != self._ignored:
            self._effects(Fact("warning", "brokers-ignored", {"brokers": list(ignored), "reason": _IGNORED}))
        self._ignored = ignored
        self._put(znode, state, raise_minimums(wanted, live))

    def _decide(self, update: Update, znode: Znode | None, state: FeatureState | None) -> None:
        if state is None:
            # The first check could not create it.
            self._end(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, f"znode {self._settings.path}: there is none"))
            return
        # Below the migration nothing is finalized, whatever the znode has.
        basis = state if self._settings.supports_features else DISABLED
        live = self._live(basis)
        # Others that are ignored end by themselves; these do not know that there are features.
        silent = self._silent - live.keys()
        update.decision = decide_update(update.request, update.api_version, basis, live, silent)
        self._put(znode, state, update.decision.state if update.decision.needs_write else state)

    def _live(self, state: FeatureState) -> dict[int, Supported]:
        """Return the brokers that count: those that support all finalized levels."""
        return {
            broker_id: supported
            for broker_id, supported in self._registered.items()
            if not incompatibilities(supported, state)
        }

    # --- Writing

    def _put(self, znode: Znode | None, state: FeatureState | None, wanted: FeatureState) -> None:
        """Write the wanted state unless the znode has it already; KIP-778's form may omit parts of it."""
        data = encode_features(wanted, kip_778=self._settings.writes_kip_778)
        if state is not None and data == encode_features(state, kip_778=self._settings.writes_kip_778):
            self._stands()
            self._end(None)
            return
        self._write = FencedWrite(
            self._session,
            epoch_version=self._epoch_version,
            path=self._settings.path,
            data=data,
            existing=znode,
            # Clients ignore an epoch below one that they know.
            version_min=self._cluster.last_epoch() + 1,
            then=partial(self._have_written, wanted),
        )
        self._write.advance()

    def _have_written(self, wanted: FeatureState, outcome: WriteOutcome) -> None:
        self._write = None
        # Another controller has been elected: nothing new starts, whatever the outcome.
        self._is_retired |= outcome.is_fenced
        if outcome.fate is Fate.STANDS:
            self._stands()
            levels = {name: [levels.min_level, levels.max_level] for name, levels in wanted.features.items()}
            fields = {"path": self._settings.path, "epoch": outcome.version, "is_enabled": wanted.is_enabled}
            self._effects(Fact("info", "features-finalized", {**fields, "features": levels}))
            self._end_written(outcome.version)
        elif outcome.is_fenced:
            self._end(NOT_CONTROLLER if outcome.fate is Fate.NOT_WRITTEN else UNKNOWN)
        elif outcome.refusal is not None:
            self._end_refused(outcome)
        elif outcome.fate is Fate.UNKNOWN and isinstance(self._task, Update):
            self._end(UNKNOWN)
        elif self._is_retired:
            self._end(NOT_CONTROLLER)
        elif isinstance(self._task, Update) and self._task.is_answered:
            self._end(None)
        else:
            # Another writer came first: decide again on the new state.
            self._read()
        if outcome.is_fenced:
            self._fenced()

    def _stands(self) -> None:
        self._is_set_up = True
        self._trouble = None

    def _end_written(self, version: int) -> None:
        update = self._task
        if isinstance(update, Update) and not update.is_answered and not self._is_retired:
            self._written.append(update)
            self._task = None
            self._cluster.when_epoch(version, partial(self._is_cached, update))
            self.advance()
        else:
            self._end(None)

    def _is_cached(self, update: Update) -> None:
        if update in self._written:
            assert update.decision is not None, "it was written"
            self._written.remove(update)
            update.succeed(update.decision)

    def _end_refused(self, outcome: WriteOutcome) -> None:
        reason = f"znode {self._settings.path}: it cannot be written: {outcome.refusal}"
        update = self._task
        if isinstance(update, Update) and outcome.fate is Fate.NOT_WRITTEN:
            assert update.decision is not None, "it was to be written"
            update.respond(update.decision.failed(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, reason)))
        elif isinstance(update, Update):
            update.refuse(UNKNOWN)
        self._end_in_trouble(reason)

    # --- Ending

    def _end_in_trouble(self, reason: str) -> None:
        """End the task with an error that an operator must resolve; it is logged once."""
        if reason != self._trouble:
            self._trouble = reason
            self._effects(Fact("error", "features-not-finalized", {"reason": reason}))
        self._end(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, reason))

    def _end(self, error: ApiError | None) -> None:
        """Answer the task's request, if any, and start the next task; None: it ends as decided."""
        task, self._task = self._task, None
        if isinstance(task, Update):
            if error is not None:
                task.refuse(error)
            elif task.decision is not None:
                task.succeed(task.decision)
        self.advance()


def _reason(answer: Failed) -> str:
    return answer.detail or answer.refusal.value
