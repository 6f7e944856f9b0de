"""A broker's life as the controller sees it: registration, heartbeats, unfencing, controlled shutdown (KIP-631).

Source: BrokerLifecycleManager. One request at a time is under way; what comes next, and when, is `_next_ms`.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.node.backoff import Backoff
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError
from falkirk.node.peers import PeerFailure
from falkirk.node.security_protocol import SECURITY_PROTOCOL_IDS
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from falkirk.protocol.messages.broker_registration_request import Feature, Listener
from falkirk.protocol.uuid import uuid_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.schema import WireMessage

# Kafka's defaults: controller.socket.timeout.ms, initial.broker.registration.timeout.ms.
REQUEST_TIMEOUT_MS: Final = 30_000
INITIAL_REGISTRATION_TIMEOUT_MS: Final = 60_000
UNREGISTERED: Final = "Shutting down because we were unable to register with the controller quorum."
"""Why a broker ends that was not taken in for so long."""
# While it starts a broker asks often, so that it need not wait for nothing; in Kafka's steps.
STARTING_INTERVAL_MS: Final = 10
SHUTDOWN_INTERVAL_MS: Final = 50
# No answer of the controller for so long, and the broker stops without it.
CONTROLLED_SHUTDOWN_TIMEOUT_MS: Final = 300_000

_SIGNED_HALVES: Final = struct.Struct(">qq")


class BrokerState(Enum):
    """As Kafka numbers and names them."""

    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class BrokerLifecycle:
    """Keeps this broker registered.

    `log_dirs`: ids of the directories that hold partitions; `cordoned_log_dirs` gives those that are to get no new
    replicas now. `log_dir_failure_timeout_ms`: how long a failed one may be unknown to the controller; None: for ever.
    """

    def __init__(
        self,
        state: NodeState,
        channel: ActiveControllerChannel,
        *,
        incarnation_id: bytes,
        log_dirs: Sequence[bytes],
        cordoned_log_dirs: Callable[[], tuple[bytes, ...]],
        previous_broker_epoch: int,
        log_dir_failure_timeout_ms: int | None,
        random: Chance,
        effects: Callable[[Effect], None],
    ) -> None:
        self.state = BrokerState.STARTING
        self.broker_epoch = -1
        self._node = state
        self._channel = channel
        self._incarnation_id = incarnation_id
        # Kafka compares uuids as two signed numbers.
        self._log_dirs = tuple(sorted(log_dirs, key=_SIGNED_HALVES.unpack))
        self._cordoned_log_dirs = cordoned_log_dirs
        self._log_dir_failure_timeout_ms = log_dir_failure_timeout_ms
        # Those that have failed, and when each must be known to the controller; None: it is.
        self._offline_log_dirs: dict[bytes, int | None] = {}
        # Those of which the heartbeat tells that is under way.
        self._told_log_dirs: tuple[bytes, ...] = ()
        self.failure: str | None = None
        """Why the broker must stop, though nobody has asked for it."""
        self._previous_broker_epoch = previous_broker_epoch
        self._effects = effects
        self._backoff = Backoff(random, first_ms=100, max_ms=state.config.broker_session_timeout_ms)
        self._is_registered = False
        self._is_pending = False
        self._next_ms = state.now_ms
        self._started_ms = state.now_ms
        self._is_ready_to_unfence = False
        self._shutdown_began_ms = 0
        # When a controller last answered.
        self._heard_ms = 0

    def tick(self) -> None:
        """Send what is due. Raises FatalError if the first registration takes too long."""
        now_ms = self._node.now_ms
        if self.broker_epoch < 0 and now_ms - self._started_ms >= INITIAL_REGISTRATION_TIMEOUT_MS:
            raise FatalError(UNREGISTERED)
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self._give_up_shutdown(now_ms)
        self._check_log_dirs(now_ms)
        if self._is_pending or self.state is BrokerState.SHUTTING_DOWN:
            return
        if self._is_registered and self._lacks_log_dirs:
            self._is_registered = False
            self._next_ms = now_ms
        if now_ms < self._next_ms:
            return
        if self._is_registered:
            self._is_pending = self._channel.send(
                self._heartbeat(), timeout_ms=REQUEST_TIMEOUT_MS, done=self._heartbeat_answered
            )
        else:
            self._is_pending = self._channel.send(
                self._registration(), timeout_ms=REQUEST_TIMEOUT_MS, done=self._registration_answered
            )

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        if self.state is BrokerState.SHUTTING_DOWN:
            return None
        times = [] if self._log_dir_deadline_ms is None else [self._log_dir_deadline_ms]
        if not self._is_pending and self._channel.is_open:
            times.append(self._next_ms)
        elif self.broker_epoch < 0:
            times.append(self._started_ms + INITIAL_REGISTRATION_TIMEOUT_MS)
        elif self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            times.append(self._shutdown_deadline_ms)
        return min(times, default=None)

    def fail_log_dir(self, directory_id: bytes) -> None:
        """Tell the controller that a log directory has failed, with a heartbeat at once."""
        timeout_ms = self._log_dir_failure_timeout_ms
        self._offline_log_dirs[directory_id] = None if timeout_ms is None else self._node.now_ms + timeout_ms
        self._next_ms = min(self._next_ms, self._node.now_ms)

    def begin_unfencing(self) -> None:
        """Ask to be unfenced from the next heartbeat on: the logs are loaded."""
        self._is_ready_to_unfence = True
        self._next_ms = min(self._next_ms, self._node.now_ms + STARTING_INTERVAL_MS)

    def begin_shutdown(self) -> None:
        """Ask the controller to move leaderships away; a broker that does not run yet just stops."""
        if self.state is BrokerState.RUNNING:
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._shutdown_began_ms = self._heard_ms = self._next_ms = self._node.now_ms
        elif self.state is not BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self._change(BrokerState.SHUTTING_DOWN)

    # --- What is asked

    def _registration(self) -> BrokerRegistrationRequest:
        config = self._node.config
        supported = self._node.supported_features
        return BrokerRegistrationRequest(
            broker_id=config.node_id,
            cluster_id=self._node.cluster_id,
            incarnation_id=self._incarnation_id,
            listeners=[
                Listener(
                    listener.name,
                    listener.advertised.host,
                    listener.advertised.port,
                    SECURITY_PROTOCOL_IDS[listener.security_protocol],
                )
                for listener in config.listeners
                if listener.is_advertised and not listener.is_controller
            ],
            features=[Feature(name, levels.lowest, levels.highest) for name, levels in supported.items()],
            rack=config.rack,
            log_dirs=self._log_dirs,
            previous_broker_epoch=self._previous_broker_epoch,
        )

    def _heartbeat(self) -> BrokerHeartbeatRequest:
        version = self._node.image.features.metadata_version
        knows_cordons = version is not None and version.cordoned_log_dirs_supported
        self._told_log_dirs = tuple(self._offline_log_dirs)
        return BrokerHeartbeatRequest(
            broker_id=self._node.config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._node.applied_offset - 1,
            want_fence=not self._is_ready_to_unfence,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=self._told_log_dirs,
            cordoned_log_dirs=self._cordoned_log_dirs() if knows_cordons else None,
        )

    @property
    def _lacks_log_dirs(self) -> bool:
        """Say whether the cluster has learnt of log directories since the broker registered (3.7-IV2)."""
        version = self._node.image.features.metadata_version
        registered = self._node.image.cluster.brokers.get(self._node.config.node_id)
        return (
            version is not None
            and version.directory_assignment_supported
            and registered is not None
            and registered.broker_epoch == self.broker_epoch
            and not registered.log_dirs
        )

    @property
    def _is_fenced(self) -> bool:
        """Say whether the broker is out of everything: it leads nothing, and is in sync with nothing."""
        registered = self._node.image.cluster.brokers.get(self._node.config.node_id)
        return registered is not None and registered.broker_epoch == self.broker_epoch and registered.fenced

    # --- What is answered

    def _registration_answered(self, answer: WireMessage | PeerFailure) -> None:
        self._is_pending = False
        if isinstance(answer, PeerFailure):
            self._failed("broker-not-registered", answer.reason)
            return
        assert isinstance(answer, BrokerRegistrationResponse), "the answer to what was asked"
        if answer.error_code:
            self._failed("broker-not-registered", error_name(answer.error_code))
            return
        self._backoff.reset()
        self._is_registered = True
        self.broker_epoch = answer.broker_epoch
        self._next_ms = self._node.now_ms
        self._effects(Fact("info", "broker-registered", {"broker_epoch": answer.broker_epoch}))

    def _heartbeat_answered(self, answer: WireMessage | PeerFailure) -> None:
        self._is_pending = False
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        if isinstance(answer, PeerFailure):
            self._failed("heartbeat-failed", answer.reason)
            return
        assert isinstance(answer, BrokerHeartbeatResponse), "the answer to what was asked"
        if answer.error_code:
            self._failed("heartbeat-failed", error_name(answer.error_code))
            return
        self._backoff.reset()
        self._offline_log_dirs.update(dict.fromkeys(self._told_log_dirs))
        self._heard_ms = self._node.now_ms
        self._next_ms = self._node.now_ms + self._take_heartbeat(answer)

    def _take_heartbeat(self, answer: BrokerHeartbeatResponse) -> int:
        """Take note of what the controller says; give how long to wait until the next heartbeat."""
        interval = self._node.config.broker_heartbeat_interval_ms
        match self.state:
            case BrokerState.STARTING:
                if answer.is_caught_up:
                    self._change(BrokerState.RECOVERY)
                return STARTING_INTERVAL_MS
            case BrokerState.RECOVERY:
                if not answer.is_fenced:
                    self._change(BrokerState.RUNNING)
            case BrokerState.PENDING_CONTROLLED_SHUTDOWN:
                if answer.should_shut_down:
                    self._change(BrokerState.SHUTTING_DOWN)
                return SHUTDOWN_INTERVAL_MS
        return interval

    def _failed(self, event: str, reason: str) -> None:
        # A controller that was leaving itself may have let the broker go without saying so.
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN and self._is_fenced:
            self._change(BrokerState.SHUTTING_DOWN)
            return
        self._next_ms = self._node.now_ms + self._backoff.next_ms()
        self._effects(Fact("info", event, {"reason": reason}))

    @property
    def _log_dir_deadline_ms(self) -> int | None:
        deadlines = (deadline for deadline in self._offline_log_dirs.values() if deadline is not None)
        return None if self.failure is not None else min(deadlines, default=None)

    def _check_log_dirs(self, now_ms: int) -> None:
        """Stop if the controller has not learnt of a failed directory: it would let the broker lead what is lost."""
        deadline = self._log_dir_deadline_ms
        if deadline is None or now_ms < deadline:
            return
        late = next(directory_id for directory_id, each in self._offline_log_dirs.items() if each == deadline)
        directory = uuid_text(late)
        self.failure = f"Shutting down because couldn't communicate offline log dir {directory} with controllers"

    def _give_up_shutdown(self, now_ms: int) -> None:
        if now_ms >= self._shutdown_deadline_ms:
            self._effects(Fact("warning", "controlled-shutdown-timed-out"))
            self._change(BrokerState.SHUTTING_DOWN)

    @property
    def _shutdown_deadline_ms(self) -> int:
        """When the broker goes without the controller's consent.

        Differs from Kafka: not after five minutes alone, but also when no controller has answered for the time after
        which it would have fenced the broker: there is nothing left to wait for.
        """
        return min(
            self._shutdown_began_ms + CONTROLLED_SHUTDOWN_TIMEOUT_MS,
            self._heard_ms + self._node.config.broker_session_timeout_ms,
        )

    def _change(self, state: BrokerState) -> None:
        self._effects(Fact("info", "broker-state", {"from": self.state.name, "to": state.name}))
        self.state = state
