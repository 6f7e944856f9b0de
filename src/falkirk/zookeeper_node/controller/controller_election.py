"""Controller election: a broker creates the ephemeral znode `/controller`, and increments `/controller_epoch`.

Both are written in one transaction, so that an epoch belongs to one controller only, and a controller's later writes
can be conditional on its epoch. Brokers that are not elected wait for `/controller` to disappear. Source: Kafka's
KafkaController and KafkaZkClient.registerControllerAndIncrementControllerEpoch.
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
from falkirk.zookeeper_node.session.exchange import SessionState
from falkirk.zookeeper_node.session.operations import (
    CheckVersion,
    Create,
    Delete,
    Done,
    Failed,
    GetData,
    KeeperError,
    Multi,
    SetData,
    Znode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.zookeeper_node.session.operations import Answer, Operation
    from falkirk.zookeeper_node.session.session import Session

NO_CONTROLLER: Final = -1
"""The controller id where none is known."""
# As in Kafka the first controller has epoch 1.
_EPOCH_BEFORE_ALL: Final = 0
# Other brokers have written: read again.
_INFORMATIVE: Final = (KeeperError.NO_NODE, KeeperError.NODE_EXISTS, KeeperError.BAD_VERSION)
# Checked again once a session accepts writes.
_TRANSIENT: Final = (KeeperError.SESSION_EXPIRED, KeeperError.READ_ONLY)


@dataclass(frozen=True, slots=True)
class WonElection:
    """This node is the controller. `epoch_version`: of the znode `/controller_epoch`, fences its writes."""

    epoch: int
    epoch_version: int


class ControllerElection:
    """Takes part in elections from `start` on, until the session ends.

    `elected` and `resigned` (with the reason) are called in turn. One operation is in flight at a time; anything that
    happens meanwhile causes `/controller` to be read once more.
    """

    def __init__(
        self,
        session: Session,
        node_id: int,
        *,
        now_ms: Callable[[], int],
        elected: Callable[[WonElection], None],
        resigned: Callable[[str], None],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._node_id = node_id
        self._now_ms = now_ms
        self._elected = elected
        self._resigned = resigned
        self._effects = effects
        self._election: WonElection | None = None
        self._controller_id = NO_CONTROLLER
        self._is_started = False
        self._is_busy = False
        self._must_recheck = False
        # The epoch of the last attempt in this session, whose answer may have been lost.
        self._epoch_tried: int | None = None
        self._trouble: str | None = None
        session.watch(CONTROLLER_PATH, self.check)
        session.on_state(self._session_changed)

    @property
    def controller_id(self) -> int:
        """The current controller as far as this node knows; NO_CONTROLLER if there is none."""
        return self._controller_id

    @property
    def election(self) -> WonElection | None:
        """The election that this node has won; None while it is not the controller."""
        return self._election

    def start(self) -> None:
        """Take part; call this once the broker is registered, in each session."""
        self._is_started = True
        self.check()

    def check(self) -> None:
        """Read `/controller` again and act on it: a watch may have been lost."""
        if not self._is_started or not self._session.is_connected:
            return
        if self._is_busy:
            self._must_recheck = True
            return
        self._is_busy = True
        self._send(GetData(CONTROLLER_PATH, watch=True), self._have_controller)

    def fenced(self) -> None:
        """Resign because a write was refused: the epoch has changed."""
        self._resign("another controller epoch has begun")
        self.check()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED:
            self.check()
        elif state is SessionState.EXPIRED:
            # All operations have been answered, so that no round is in flight.
            self._is_started = False
            self._epoch_tried = None
            self._controller_id = NO_CONTROLLER
            self._resign("the session with ZooKeeper has expired")

    # --- The current controller

    def _have_controller(self, answer: Answer) -> None:
        if isinstance(answer, Failed):
            assert answer.refusal is KeeperError.NO_NODE, "the others end the round"
            self._controller_id = NO_CONTROLLER
            self._resign(f"{CONTROLLER_PATH} is gone")
            self._send(GetData(CONTROLLER_EPOCH_PATH), self._have_epoch)
            return
        assert isinstance(answer, Znode), "GetData is answered by a Znode"
        if answer.ephemeral_owner == self._session.session_id:
            self._have_own()
            return
        try:
            self._controller_id = decode_controller(answer.data)
        except ZnodeError as error:
            self._controller_id = NO_CONTROLLER
            self._log_trouble(str(error))
        self._resign(f"{CONTROLLER_PATH} is broker {self._controller_id}'s")
        self._end_round()

    def _have_own(self) -> None:
        """Find the epoch of this session's own `/controller`, unless it is known."""
        if self._election is not None:
            self._end_round()
        else:
            self._send(GetData(CONTROLLER_EPOCH_PATH), self._have_own_epoch)

    def _have_own_epoch(self, answer: Answer) -> None:
        fence: tuple[CheckVersion, ...] = ()
        if isinstance(answer, Znode):
            if self._epoch_tried is not None and answer.data == encode_epoch(self._epoch_tried):
                self._become(WonElection(self._epoch_tried, answer.version))
                return
            fence = (CheckVersion(CONTROLLER_EPOCH_PATH, answer.version),)
        # Another broker has begun another epoch. No controller can be elected while this znode exists.
        self._send(Multi((*fence, Delete(CONTROLLER_PATH))), self._check_again)

    # --- WonElection

    def _have_epoch(self, answer: Answer) -> None:
        if isinstance(answer, Znode):
            try:
                epoch = decode_epoch(answer.data) + 1
            except ZnodeError as error:
                self._log_trouble(f"{error}; no controller is elected")
                self._end_round()
            else:
                self._stand_for(epoch, answer.version)
        else:
            self._send(Create(CONTROLLER_EPOCH_PATH, encode_epoch(_EPOCH_BEFORE_ALL)), self._check_again)

    def _stand_for(self, epoch: int, version: int) -> None:
        self._epoch_tried = epoch
        mine = Create(CONTROLLER_PATH, encode_controller(self._node_id, self._now_ms()), ephemeral=True)
        raised = SetData(CONTROLLER_EPOCH_PATH, encode_epoch(epoch), version)
        self._send(Multi((mine, raised)), partial(self._have_stood, epoch))

    def _have_stood(self, epoch: int, answer: Answer) -> None:
        if isinstance(answer, Done):
            self._become(WonElection(epoch, answer.version))
        else:
            self._check_again(answer)

    def _become(self, election: WonElection) -> None:
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

    def _send(self, operation: Operation, then: Callable[[Answer], None]) -> None:
        """Send the next operation of this round; an answer that leads nowhere ends it."""

        def answered(answer: Answer) -> None:
            if not isinstance(answer, Failed) or answer.refusal in _INFORMATIVE:
                then(answer)
            elif answer.refusal is KeeperError.CONNECTION_LOSS:
                self._check_again(answer)
            else:
                if answer.refusal not in _TRANSIENT:
                    reason = answer.detail or answer.refusal.value
                    self._log_trouble(f"the election of a controller is refused: {reason}")
                self._end_round()

        self._session.send(operation, answered)

    def _check_again(self, _answer: Answer) -> None:
        """Read `/controller` again, now or after the connection is restored."""
        self._must_recheck = True
        self._end_round()

    def _end_round(self) -> None:
        self._is_busy = False
        if self._must_recheck:
            self._must_recheck = False
            self.check()

    def _log_trouble(self, reason: str) -> None:
        if reason != self._trouble:
            self._trouble = reason
            self._effects(Fact("error", "no-controller", {"reason": reason}))
