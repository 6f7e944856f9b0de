"""Who is the controller: whoever has made the ephemeral znode `/controller`, with the next `/controller_epoch`.

Both are written in one transaction, so that an epoch belongs to one controller alone, and what a controller writes
later can be made conditional on its epoch. Who is not elected waits for `/controller` to go.
Source: Kafka's KafkaController and KafkaZkClient.registerControllerAndIncrementControllerEpoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.controller_znode import (
    CONTROLLER_EPOCH_PATH,
    CONTROLLER_PATH,
    decode_controller,
    decode_epoch,
    encode_controller,
    encode_epoch,
)
from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.node.effects import Fact
from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.operations import (
    CheckVersion,
    Create,
    Delete,
    Done,
    Failed,
    GetData,
    Multi,
    Refusal,
    SetData,
    Znode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.operations import Answer, Operation
    from falkirk.node.zookeeper.session import Session

NO_CONTROLLER: Final = -1
"""The id of a controller that is not known, or not there."""


@dataclass(frozen=True, slots=True)
class Election:
    """This node is the controller. `epoch_version`: of the znode `/controller_epoch`, fences what it writes."""

    epoch: int
    epoch_version: int


class ControllerElection:
    """Takes part in elections from `start` on, until the session ends.

    `elected` and `resigned` (with the reason) are called in turn. One thing is asked for at a time; whatever comes up
    meanwhile has `/controller` read once more.
    """

    def __init__(
        self,
        session: Session,
        node_id: int,
        *,
        now_ms: Callable[[], int],
        elected: Callable[[Election], None],
        resigned: Callable[[str], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._node_id = node_id
        self._now_ms = now_ms
        self._elected = elected
        self._resigned = resigned
        self._effects = effects
        self._election: Election | None = None
        self._controller_id = NO_CONTROLLER
        self._is_started = False
        self._is_busy = False
        self._is_to_look = False
        # The epoch that was asked for last in this session: its answer may have been lost.
        self._epoch_tried: int | None = None
        self._trouble: str | None = None
        session.watch(CONTROLLER_PATH, self.look)
        session.on_state(self._session_changed)

    @property
    def controller_id(self) -> int:
        """Who is the controller as far as is known here, NO_CONTROLLER if nobody is."""
        return self._controller_id

    @property
    def election(self) -> Election | None:
        """What this node was elected as; None while it is not the controller."""
        return self._election

    def start(self) -> None:
        """Take part; to be called once the broker is registered, in each session."""
        self._is_started = True
        self.look()

    def look(self) -> None:
        """Read `/controller` again, and do what follows from it: what a watch should have told may have been lost."""
        if not self._is_started or not self._session.is_connected:
            return
        if self._is_busy:
            self._is_to_look = True
            return
        self._is_busy = True
        self._ask(GetData(CONTROLLER_PATH, watch=True), self._have_controller)

    def fenced(self) -> None:
        """Resign because a write was refused: the epoch is another one."""
        self._resign("another controller epoch has begun")
        self.look()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self.look()
        elif state is SessionState.EXPIRED:
            # Whatever was asked for has been answered, so that no round is under way.
            self._is_started = False
            self._epoch_tried = None
            self._controller_id = NO_CONTROLLER
            self._resign("the session with ZooKeeper has expired")

    # --- Who is it?

    def _have_controller(self, answer: Answer) -> None:
        if isinstance(answer, Failed):
            assert answer.refusal is Refusal.NO_NODE, "the others end the round"
            self._controller_id = NO_CONTROLLER
            self._resign(f"{CONTROLLER_PATH} is gone")
            self._ask(GetData(CONTROLLER_EPOCH_PATH), self._have_epoch)
            return
        assert isinstance(answer, Znode), "GetData is answered by a Znode"
        if answer.ephemeral_owner == self._session.session_id:
            self._have_own()
            return
        try:
            self._controller_id = decode_controller(answer.data)
        except ZnodeError as error:
            self._controller_id = NO_CONTROLLER
            self._tell_trouble(str(error))
        self._resign(f"{CONTROLLER_PATH} is broker {self._controller_id}'s")
        self._end_round()

    def _have_own(self) -> None:
        """Find out of which epoch `/controller` is, unless this is known: the session of this node has made it."""
        if self._election is not None:
            self._end_round()
        else:
            self._ask(GetData(CONTROLLER_EPOCH_PATH), self._have_own_epoch)

    def _have_own_epoch(self, answer: Answer) -> None:
        fence: tuple[CheckVersion, ...] = ()
        if isinstance(answer, Znode):
            if self._epoch_tried is not None and answer.data == encode_epoch(self._epoch_tried):
                self._become(Election(self._epoch_tried, answer.version))
                return
            fence = (CheckVersion(CONTROLLER_EPOCH_PATH, answer.version),)
        # Somebody else has begun another epoch. No controller can be elected before this one is gone.
        self._ask(Multi((*fence, Delete(CONTROLLER_PATH))), self._look_again)

    # --- Election

    def _have_epoch(self, answer: Answer) -> None:
        if isinstance(answer, Znode):
            try:
                epoch = decode_epoch(answer.data) + 1
            except ZnodeError as error:
                self._tell_trouble(f"{error}; no controller is elected")
                self._end_round()
            else:
                self._stand_for(epoch, answer.version)
        else:
            self._ask(Create(CONTROLLER_EPOCH_PATH, encode_epoch(_EPOCH_BEFORE_ALL)), self._look_again)

    def _stand_for(self, epoch: int, version: int) -> None:
        self._epoch_tried = epoch
        mine = Create(CONTROLLER_PATH, encode_controller(self._node_id, self._now_ms()), ephemeral=True)
        raised = SetData(CONTROLLER_EPOCH_PATH, encode_epoch(epoch), version)
        self._ask(Multi((mine, raised)), partial(self._have_stood, epoch))

    def _have_stood(self, epoch: int, answer: Answer) -> None:
        if isinstance(answer, Done):
            self._become(Election(epoch, answer.version))
        else:
            self._look_again(answer)

    def _become(self, election: Election) -> None:
        self._election = election
        self._controller_id = self._node_id
        self._trouble = None
        self._effects(Fact("info", "controller-elected", {"epoch": election.epoch}))
        self._end_round()
        self._elected(election)

    def _resign(self, reason: str) -> None:
        election, self._election = self._election, None
        if election is not None:
            self._effects(Fact("info", "controller-resigned", {"epoch": election.epoch, "reason": reason}))
            self._resigned(reason)

    # --- Rounds

    def _ask(self, operation: Operation, then: Callable[[Answer], None]) -> None:
        """Ask for what is next in this round; what nothing can follow from ends it."""

        def answered(answer: Answer) -> None:
            if not isinstance(answer, Failed) or answer.refusal in _TELLING:
                then(answer)
            elif answer.refusal is Refusal.CONNECTION_LOSS:
                self._look_again(answer)
            else:
                if answer.refusal not in _TRANSIENT:
                    reason = answer.detail or answer.refusal.value
                    self._tell_trouble(f"the election of a controller is refused: {reason}")
                self._end_round()

        self._session.ask(operation, answered)

    def _look_again(self, _answer: Answer) -> None:
        """Begin with `/controller` again, now or when the connection is back."""
        self._is_to_look = True
        self._end_round()

    def _end_round(self) -> None:
        self._is_busy = False
        if self._is_to_look:
            self._is_to_look = False
            self.look()

    def _tell_trouble(self, reason: str) -> None:
        if reason != self._trouble:
            self._trouble = reason
            self._effects(Fact("error", "no-controller", {"reason": reason}))


# Kafka's: the first controller has epoch 1.
_EPOCH_BEFORE_ALL: Final = 0
# What others have written is read again; nothing is wrong with it.
_TELLING: Final = (Refusal.NO_NODE, Refusal.NODE_EXISTS, Refusal.BAD_VERSION)
# It is looked at again once there is a session that writes can go through.
_TRANSIENT: Final = (Refusal.SESSION_EXPIRED, Refusal.READ_ONLY)
