"""A broker's life as the controller sees it: registration, heartbeats, unfencing, controlled shutdown (KIP-631).

Source: BrokerLifecycleManager. One request at a time is in flight; `_next_ms` is when the next one is due.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.node.config.security_settings import SECURITY_PROTOCOL_IDS
from falkirk.node.connections.backoff import Backoff
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.node.errors import FatalError
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

    from falkirk.metadata.image.configs import ConfigsImage
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.step import CommittedMetadata, Step
    from falkirk.protocol.schema import WireMessage

# Kafka's defaults: controller.socket.timeout.ms, initial.broker.registration.timeout.ms.
REQUEST_TIMEOUT_MS: Final = 30_000
INITIAL_REGISTRATION_TIMEOUT_MS: Final = 60_000
UNREGISTERED: Final = "Shutting down because we were unable to register with the controller quorum."
"""The reason of a broker that could not register in time."""
# A starting broker sends heartbeats often, so that it does not wait in vain; Kafka's intervals.
STARTING_INTERVAL_MS: Final = 10
SHUTDOWN_INTERVAL_MS: Final = 50
# After this time the broker stops without the controller's consent.
CONTROLLED_SHUTDOWN_TIMEOUT_MS: Final = 300_000

_SIGNED_HALVES: Final = struct.Struct(">qq")


class BrokerState(Enum):
    """Kafka's numbers and names."""

    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


class BrokerLifecycle:
    """Keeps this broker registered.

    `applied_offset` returns the end offset of the metadata that is applied, to replicas and their files as well.
    `log_dirs`: ids of the directories that hold partitions; `cordoned_log_dirs` returns those that must get no new
    replicas now. `log_dir_failure_timeout_ms`: until when the controller must know of a failed one; None: no limit.
    """

    def __init__(
        self,
        step: Step,
        metadata: CommittedMetadata,
        channel: ActiveControllerChannel,
        *,
        applied_offset: Callable[[], int],
        incarnation_id: bytes,
        log_dirs: Sequence[bytes],
        cordoned_log_dirs: Callable[[], tuple[bytes, ...]],
        previous_broker_epoch: int,
        log_dir_failure_timeout_ms: int | None,
        effects: Callable[[Effect], None],
    ) -> None:
        self.state = BrokerState.STARTING
        self.broker_epoch = -1
        self._step = step
        self._metadata = metadata
        self._applied_offset = applied_offset
        self._channel = channel
        self._incarnation_id = incarnation_id
        # Kafka orders uuids as two signed numbers.
        self._log_dirs = tuple(sorted(log_dirs, key=_SIGNED_HALVES.unpack))
        self._cordoned_log_dirs = cordoned_log_dirs
        self._log_dir_failure_timeout_ms = log_dir_failure_timeout_ms
        # Failed directories, and when each must be reported to the controller; None: it is.
        self._offline_log_dirs: dict[bytes, int | None] = {}
        # Those in the heartbeat that is in flight.
        self._reported_log_dirs: tuple[bytes, ...] = ()
        self._reported_cordoned: tuple[bytes, ...] | None = None
        # The configs that cordoned directories were looked up in last.
        self._reported_configs: ConfigsImage | None = None
        self.failure: str | None = None
        """Why the broker must stop by itself; None if it must not."""
        self._previous_broker_epoch = previous_broker_epoch
        self._effects = effects
        self._backoff = Backoff(step.random, first_ms=100, max_ms=step.config.broker_session_timeout_ms)
        self._is_registered = False
        self._is_pending = False
        self._next_ms = step.now_ms
        self._started_ms = step.now_ms
        self._is_ready_to_unfence = False
        self._shutdown_began_ms = 0
        # When a controller last answered.
        self._last_response_ms = 0

    def tick(self) -> None:
        """Send what is due. Raises FatalError if the first registration takes too long."""
        now_ms = self._step.now_ms
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
        if self._metadata.image.configs is not self._reported_configs and self._is_registered:
            self._reported_configs = self._metadata.image.configs
            # At once: until the controller knows, it goes on to place replicas there.
            if self._cordoned() != self._reported_cordoned:
                self._next_ms = now_ms
        if now_ms < self._next_ms:
            return
        request = self._heartbeat() if self._is_registered else self._registration()
        done = self._heartbeat_answered if self._is_registered else self._registration_answered
        # Before it is sent: it may fail at once.
        self._is_pending = True
        if not self._channel.send(request, timeout_ms=REQUEST_TIMEOUT_MS, done=done):
            self._is_pending = False

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
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
        """Report a failed log directory to the controller, with a heartbeat at once."""
        timeout_ms = self._log_dir_failure_timeout_ms
        self._offline_log_dirs[directory_id] = None if timeout_ms is None else self._step.now_ms + timeout_ms
        self._next_ms = min(self._next_ms, self._step.now_ms)

    def begin_unfencing(self) -> None:
        """Ask to be unfenced from the next heartbeat on: the logs are loaded, the first image is applied."""
        self._is_ready_to_unfence = True
        self._next_ms = min(self._next_ms, self._step.now_ms + STARTING_INTERVAL_MS)

    def defer_unfencing(self) -> None:
        """Ask to stay fenced until `begin_unfencing`."""
        self._is_ready_to_unfence = False

    def begin_shutdown(self) -> None:
        """Ask the controller to move leaderships away; a broker that does not run yet just stops."""
        if self.state is BrokerState.RUNNING:
            self.state = BrokerState.PENDING_CONTROLLED_SHUTDOWN
            self._shutdown_began_ms = self._last_response_ms = self._next_ms = self._step.now_ms
        elif self.state is not BrokerState.PENDING_CONTROLLED_SHUTDOWN:
            self._change(BrokerState.SHUTTING_DOWN)

    # --- What is asked

    def _registration(self) -> BrokerRegistrationRequest:
        config = self._step.config
        supported = config.supported_features
        return BrokerRegistrationRequest(
            broker_id=config.node_id,
            cluster_id=self._step.cluster_id,
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
        self._reported_log_dirs = tuple(self._offline_log_dirs)
        self._reported_cordoned = self._cordoned()
        return BrokerHeartbeatRequest(
            broker_id=self._step.config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._applied_offset() - 1,
            want_fence=not self._is_ready_to_unfence,
            want_shut_down=self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN,
            offline_log_dirs=self._reported_log_dirs,
            cordoned_log_dirs=self._reported_cordoned,
        )

    def _cordoned(self) -> tuple[bytes, ...] | None:
        version = self._metadata.image.features.metadata_version
        return self._cordoned_log_dirs() if version is not None and version.cordoned_log_dirs_supported else None

    @property
    def _lacks_log_dirs(self) -> bool:
        """True if metadata.version supports log directories, and the broker registered without any (3.7-IV2)."""
        version = self._metadata.image.features.metadata_version
        registered = self._metadata.image.cluster.brokers.get(self._step.config.node_id)
        return (
            version is not None
            and version.directory_assignment_supported
            and registered is not None
            and registered.broker_epoch == self.broker_epoch
            and not registered.log_dirs
        )

    @property
    def is_fenced(self) -> bool:
        """True if the image has this registration as fenced: it leads nothing, and is in no ISR."""
        registered = self._metadata.image.cluster.brokers.get(self._step.config.node_id)
        return registered is not None and registered.broker_epoch == self.broker_epoch and registered.fenced

    # --- What is answered

    def _registration_answered(self, answer: WireMessage | RequestFailure) -> None:
        self._is_pending = False
        if isinstance(answer, RequestFailure):
            self._failed("broker-not-registered", answer.reason)
            return
        assert isinstance(answer, BrokerRegistrationResponse), "a response to this request"
        if answer.error_code:
            self._failed("broker-not-registered", error_name(answer.error_code))
            return
        self._backoff.reset()
        self._is_registered = True
        self.broker_epoch = answer.broker_epoch
        self._next_ms = self._step.now_ms
        self._effects(Fact("info", "broker-registered", {"broker_epoch": answer.broker_epoch}))

    def _heartbeat_answered(self, answer: WireMessage | RequestFailure) -> None:
        self._is_pending = False
        if self.state is BrokerState.SHUTTING_DOWN:
            return
        if isinstance(answer, RequestFailure):
            self._failed("heartbeat-failed", answer.reason)
            return
        assert isinstance(answer, BrokerHeartbeatResponse), "a response to this request"
        if answer.error_code:
            self._failed("heartbeat-failed", error_name(answer.error_code))
            return
        self._backoff.reset()
        self._offline_log_dirs.update(dict.fromkeys(self._reported_log_dirs))
        self._last_response_ms = self._step.now_ms
        self._next_ms = self._step.now_ms + self._apply_heartbeat(answer)

    def _apply_heartbeat(self, answer: BrokerHeartbeatResponse) -> int:
        """Change the state as the controller says; return the wait (ms) until the next heartbeat."""
        interval = self._step.config.broker_heartbeat_interval_ms
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
        # A controller that was shutting down itself may have fenced the broker without responding.
        if self.state is BrokerState.PENDING_CONTROLLED_SHUTDOWN and self.is_fenced:
            self._change(BrokerState.SHUTTING_DOWN)
            return
        self._next_ms = self._step.now_ms + self._backoff.next_ms()
        self._effects(Fact("info", event, {"reason": reason}))

    @property
    def _log_dir_deadline_ms(self) -> int | None:
        deadlines = (deadline for deadline in self._offline_log_dirs.values() if deadline is not None)
        return None if self.failure is not None else min(deadlines, default=None)

    def _check_log_dirs(self, now_ms: int) -> None:
        """Stop if a failed directory is not reported in time: the controller would let the broker lead lost logs."""
        deadline = self._log_dir_deadline_ms
        if deadline is None or now_ms < deadline:
            return
        late = [directory_id for directory_id, each in self._offline_log_dirs.items() if each == deadline]
        directory = uuid_text(late[0])
        self.failure = f"Shutting down because couldn't communicate offline log dir {directory} with controllers"

    def _give_up_shutdown(self, now_ms: int) -> None:
        if now_ms >= self._shutdown_deadline_ms:
            self._effects(Fact("warning", "controlled-shutdown-timed-out"))
            self._change(BrokerState.SHUTTING_DOWN)

    @property
    def _shutdown_deadline_ms(self) -> int:
        """When the broker stops without the controller's consent.

        Differs from Kafka: not only after five minutes, but also when no controller has answered for the session
        timeout, after which it would have fenced the broker anyway.
        """
        return min(
            self._shutdown_began_ms + CONTROLLED_SHUTDOWN_TIMEOUT_MS,
            self._last_response_ms + self._step.config.broker_session_timeout_ms,
        )

    def _change(self, state: BrokerState) -> None:
        self._effects(Fact("info", "broker-state", {"from": self.state.name, "to": state.name}))
        self.state = state
