"""What the elected controller does about features: it alone writes the znode of finalized features.

One queue orders what brokers come and go and what is asked for, and one thing is done at a time: read the znode,
decide, write if there is anything to write. What is next is begun when the write is known to stand, or not to. So a
broker whose registration is looked at after a level rose above what it supports is ignored (KIP-584, incompatible
broker lifetime race condition); it finds out by itself that it has to shut down.

An answer rests on what it says (KIP-584, guarantees): success is told once the write stands, REQUEST_TIMED_OUT where
nobody knows, every other error of the whole where nothing was written. Nothing is written for whoever has been
answered.

Differs from Kafka: writes are conditional and fenced; a min level follows the brokers; an update is decided on what
is read then, not on a cache.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.api_error import ApiError
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.feature_deprecation import raise_minimums
from falkirk.metadata.zookeeper.feature_setup import set_up
from falkirk.metadata.zookeeper.feature_update import decide_update
from falkirk.metadata.zookeeper.features_znode import decode_features, encode_features
from falkirk.metadata.zookeeper.finalized_features import DISABLED, incompatibilities
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.feature_tasks import LATE, NOT_CONTROLLER, UNKNOWN, Look, Update
from falkirk.node.zookeeper.fenced_write import Fate, FencedWrite
from falkirk.node.zookeeper.operations import Failed, GetData, Refusal, Znode
from falkirk.protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.zookeeper.finalized_features import FeatureState, Supported
    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.fenced_write import WriteOutcome
    from falkirk.node.zookeeper.operations import Answer
    from falkirk.node.zookeeper.session import Session
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSettings:
    """What a controller is to know of its own configuration.

    `path`: of the znode of finalized features. `supports_features`: inter.broker.protocol.version is at or above the
    migration's. `supported`: what this node supports itself. `writes_kip_778`: max levels alone are written.
    """

    path: str
    supports_features: bool
    supported: Supported
    writes_kip_778: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """What a controller sees of the cluster through the caches of its node.

    `brokers`: what each registered broker supports, by id; None before that is known. `when_epoch`: calls back as soon
    as the node's own cache has this version of the znode of features, or a later one.
    """

    brokers: Callable[[], Mapping[int, Supported] | None]
    when_epoch: Callable[[int, Callable[[], None]], None]


class FeatureController:
    """Exists from an election to the resignation, and for as long after that as a write is under way."""

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
        self._queue: deque[Look | Update] = deque([Look()])
        self._task: Look | Update | None = None
        # The read of the task is under way.
        self._is_reading = False
        self._write: FencedWrite | None = None
        # Updates that stand, but not yet in the node's own cache.
        self._written: list[Update] = []
        self._registered: Mapping[int, Supported] = {}
        self._ignored: tuple[int, ...] = ()
        self._trouble: str | None = None
        self._is_set_up = False
        self._is_retired = False

    @property
    def is_done(self) -> bool:
        """Say whether it has resigned and nobody waits for an answer any more."""
        return self._is_retired and self._task is None

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the first of those who wait for an answer waits no longer."""
        return min((update.deadline_ms for update in self._unanswered()), default=None)

    def go_on(self) -> None:
        """Begin what is next, or what a lost connection has interrupted, if that can be now.

        To be called after the election, whenever the session is connected again, and when brokers become known.
        """
        if self._write is not None:
            self._write.go_on()
        elif self._task is not None:
            self._read()
        elif self._queue and not self._is_retired:
            registered = self._cluster.brokers()
            if registered is not None:
                self._begin(self._queue.popleft(), registered)

    def look_again(self) -> None:
        """Take note that brokers or the znode of features have changed."""
        if not (self._queue and isinstance(self._queue[-1], Look)):
            self._queue.append(Look())
        self.go_on()

    def update(
        self,
        request: UpdateFeaturesRequest,
        api_version: int,
        answer: Callable[[UpdateFeaturesResponse], None],
        now_ms: int,
    ) -> None:
        """Have an update decided when its turn comes; `answer` is called once, within the request's timeoutMs."""
        assert not self._is_retired, "who has resigned is asked no more"
        update = Update(request, api_version, answer, now_ms + request.timeout_ms)
        if request.timeout_ms <= 0:
            update.refuse(LATE)
        else:
            self._queue.append(update)
            self.go_on()

    def tick(self, now_ms: int) -> None:
        """Answer those who have waited for as long as they wanted to."""
        for update in [update for update in self._unanswered() if now_ms >= update.deadline_ms]:
            if update in self._written:
                # That it stands is what success promises; it is this node's own cache that is late.
                self._is_cached(update)
            else:
                self._time_out(update)
        self.go_on()

    def retire(self) -> None:
        """Resign: nothing new is begun. A write that is under way is waited for, unless the session has expired."""
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

    def _begin(self, task: Look | Update, registered: Mapping[int, Supported]) -> None:
        self._task = task
        if isinstance(task, Look):
            self._registered = registered
        self._read()

    # --- Reading

    def _read(self) -> None:
        if not self._is_reading and self._session.is_connected:
            self._is_reading = True
            self._session.ask(GetData(self._settings.path), partial(self._have_read, self._task))

    def _have_read(self, task: Look | Update | None, answer: Answer) -> None:
        self._is_reading = False
        if task is not self._task:
            # It was given up meanwhile; what came next has waited for this.
            self.go_on()
        elif isinstance(answer, Znode):
            self._have_znode(answer)
        elif isinstance(answer, Failed) and answer.refusal is Refusal.NO_NODE:
            self._have_state(None, None)
        elif isinstance(answer, Failed) and answer.refusal in _INTERRUPTED:
            self.go_on()
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
        """Decide, now that it is known what is finalized."""
        if znode is None and self._is_set_up:
            # Kafka, too, leaves it to the next controller: a guess would finalize what nobody has asked for.
            self._end_in_trouble(f"znode {self._settings.path}: it has been deleted; the next controller makes it anew")
            return
        if isinstance(self._task, Update):
            self._decide(self._task, znode, state)
        else:
            self._look(znode, state)

    # --- Deciding

    def _look(self, znode: Znode | None, state: FeatureState | None) -> None:
        settings = self._settings
        wanted = set_up(state, supports_features=settings.supports_features, supported=settings.supported)
        live = self._live(wanted)
        ignored = tuple(sorted(self._registered.keys() - live.keys()))
        if ignored and ignored != self._ignored:
            self._effects(Fact("warning", "brokers-ignored", {"brokers": list(ignored), "reason": _IGNORED}))
        self._ignored = ignored
        self._put(znode, state, raise_minimums(wanted, live))

    def _decide(self, update: Update, znode: Znode | None, state: FeatureState | None) -> None:
        if state is None:
            # The look that came first could not make it.
            self._end(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, f"znode {self._settings.path}: there is none"))
            return
        # Whatever stands there: below the migration nothing is finalized.
        basis = state if self._settings.supports_features else DISABLED
        update.decision = decide_update(update.request, update.api_version, basis, self._live(basis))
        self._put(znode, state, update.decision.state if update.decision.needs_write else state)

    def _live(self, state: FeatureState) -> dict[int, Supported]:
        """Give the brokers that count: those that can run with what is finalized."""
        return {
            broker_id: supported
            for broker_id, supported in self._registered.items()
            if not incompatibilities(supported, state)
        }

    # --- Writing

    def _put(self, znode: Znode | None, state: FeatureState | None, wanted: FeatureState) -> None:
        """Write what is wanted, unless it says what stands there already; by KIP-778 it may not say all."""
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
            then=partial(self._have_written, wanted),
        )
        self._write.go_on()

    def _have_written(self, wanted: FeatureState, outcome: WriteOutcome) -> None:
        self._write = None
        # Another controller has been elected, whatever has become of this: nothing new is begun.
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
            # Somebody else has written: what was decided rests on what is not there any more.
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
            self.go_on()
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
        """End the task for what an operator has to see to; that is told once."""
        if reason != self._trouble:
            self._trouble = reason
            self._effects(Fact("error", "features-not-finalized", {"reason": reason}))
        self._end(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, reason))

    def _end(self, error: ApiError | None) -> None:
        """Answer, if anybody waits for it, and go on with what is next; None: it is as it was decided."""
        task, self._task = self._task, None
        if isinstance(task, Update):
            if error is not None:
                task.refuse(error)
            elif task.decision is not None:
                task.succeed(task.decision)
        self.go_on()


def _reason(answer: Failed) -> str:
    return answer.detail or answer.refusal.value


# The connection or the session was lost, or takes nothing for now: it is asked for again, if at all, when there is one.
_INTERRUPTED: Final = (Refusal.CONNECTION_LOSS, Refusal.SESSION_EXPIRED, Refusal.READ_ONLY)
_IGNORED: Final = "Ignoring registration of new brokers due to incompatibilities with finalized features"
