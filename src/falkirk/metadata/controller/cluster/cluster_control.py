"""Registrations of brokers and controllers, heartbeats, fencing.

Source: KIP-631, KIP-841, KIP-858, KIP-919, KIP-966, and Kafka's controller.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.cluster.broker_epoch import broker_of_epoch
from falkirk.metadata.controller.cluster.broker_heartbeats import BrokerControlState, BrokerHeartbeats, next_state
from falkirk.metadata.controller.cluster.broker_records import (
    controlled_shutdown_records,
    cordoned_log_dirs_record,
    fence_record,
    log_dirs_record,
    unfence_record,
)
from falkirk.metadata.controller.cluster.refusals import Refusals
from falkirk.metadata.controller.cluster.registration_check import directories_error, unsupported_feature_error
from falkirk.metadata.controller.cluster.registration_request import broker_registration, controller_registration
from falkirk.metadata.controller.state.result import ControllerResult
from falkirk.metadata.records.batch import VersionedRecord
from falkirk.metadata.requests.api_error import ApiError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import BrokerHeartbeatResponse, UnregisterBrokerRecord, UnregisterControllerRecord
from falkirk.versions.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from falkirk.metadata.controller.cluster.broker_heartbeats import BrokerSession
    from falkirk.metadata.controller.partitions.replication_control import ReplicationControl
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.controller.state.settings import ControllerSettings
    from falkirk.metadata.image.broker_registration import BrokerRegistration
    from falkirk.protocol.messages import (
        BrokerHeartbeatRequest,
        BrokerRegistrationRequest,
        ControllerRegistrationRequest,
    )

_REPORTS_PREVIOUS_EPOCH_FROM: Final = 3
_FORMER_LIFE_LEAVES: Final = (
    "The broker's former life did not end in order, and is still being removed from its partitions. It may register "
    "when that is done."
)


class ClusterControl:
    """Registrations of brokers and controllers, heartbeats, fencing.

    Sessions are soft state: not in the log, renewed by each heartbeat, whatever becomes of its records.
    """

    def __init__(
        self, state: ControllerState, settings: ControllerSettings, replication: ReplicationControl, now_ms: int
    ) -> None:
        self._state = state
        self._settings = settings
        self._replication = replication
        self._heartbeats = BrokerHeartbeats(settings.broker_session_timeout_ms)
        # Brokers that were heard of by the controller before get the time of a whole session to find this one.
        for broker in state.image.cluster.brokers.values():
            if not broker.fenced:
                self._heartbeats.touch(broker.broker_id, broker.broker_epoch, now_ms)
        # Where the registrations stand in the log that this controller appended; all others stand before its first
        # record. A broker that has read so far knows of its registration.
        self._registration_offsets: dict[int, int] = {}
        self._first_offset = state.next_offset
        # Since when this controller listens to heartbeats.
        self.active_since_ms = now_ms
        self.refusals = Refusals()
        self._timed_out: list[int] = []

    def register_broker(
        self, request: BrokerRegistrationRequest, *, api_version: int, kraft_version: int, now_ms: int
    ) -> ControllerResult[int] | ApiError:
        """Register a broker, or take its new registration in the same life; the response is its epoch.

        The epoch is the offset at which the records begin. Errors: INCONSISTENT_CLUSTER_ID,
        DUPLICATE_BROKER_REGISTRATION while the broker's former life has a session, BROKER_ID_NOT_REGISTERED for a
        broker on ZooKeeper, INVALID_REGISTRATION, UNSUPPORTED_VERSION.
        """
        existing = self._state.image.cluster.brokers.get(request.broker_id)
        error = self._registration_error(request, existing, kraft_version=kraft_version, now_ms=now_ms)
        if error is not None:
            self.refusals.note("BrokerRegistration", request.broker_id, error)
            return error
        self.refusals.forget("BrokerRegistration", request.broker_id)
        at = self._state.metadata_version
        records: list[VersionedRecord] = []
        if existing is not None and existing.incarnation_id == request.incarnation_id:
            registration = broker_registration(
                request,
                existing.broker_epoch,
                fenced=existing.fenced,
                in_controlled_shutdown=existing.in_controlled_shutdown,
            )
        else:
            registration = broker_registration(request, self._state.next_offset)
            # It says which life of it ended in order; only that one is sure to have kept what it had.
            was_clean = (
                existing is not None
                and api_version >= _REPORTS_PREVIOUS_EPOCH_FROM
                and request.previous_broker_epoch == existing.broker_epoch
            )
            left = self._replication.broker_fenced if was_clean else self._replication.broker_had_unclean_shutdown
            changes = left(request.broker_id)
            if changes is None:
                return ApiError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, _FORMER_LIFE_LEAVES)
            records += changes
        records.append(VersionedRecord(*registration.to_record(at)))
        self._registration_offsets[request.broker_id] = self._state.next_offset + len(records) - 1
        return ControllerResult(tuple(records), registration.broker_epoch, is_atomic=False)

    def heartbeat(
        self, request: BrokerHeartbeatRequest, *, now_ms: int
    ) -> ControllerResult[BrokerHeartbeatResponse] | ApiError:
        """Renew a broker's session, and fence, unfence or let it go as it wants and may. Error: STALE_BROKER_EPOCH."""
        broker = broker_of_epoch(self._state.image.cluster, request.broker_id, request.broker_epoch)
        if isinstance(broker, ApiError):
            self.refusals.note("BrokerHeartbeat", request.broker_id, broker)
            return broker
        self.refusals.forget("BrokerHeartbeat", request.broker_id)
        session = self._heartbeats.touch(broker.broker_id, broker.broker_epoch, now_ms)
        session.metadata_offset = request.current_metadata_offset
        if broker.fenced:
            session.shutdown_offset = None
        is_caught_up = request.current_metadata_offset >= self._registration_offset(broker.broker_id)
        failed = self._failed_directories(broker, request)
        is_changing = self._replication.is_changing(broker.broker_id)
        current = _control_state(broker, session)
        following = next_state(
            current,
            request,
            # Differs from Kafka: a broker that tells of a failed directory is unfenced by its next heartbeat only, so
            # that it is not given leaderships of what lies in there.
            # What it left before is to be over: it may have lost what it had there.
            is_caught_up=is_caught_up and not failed and not is_changing,
            has_leaderships=lambda: is_changing or self._replication.has_leaderships(broker.broker_id),
            others_are_caught_up=partial(self._others_are_caught_up, session),
        )
        records = [
            *self._transition_records(broker, current, following),
            *self._offline_records(broker, failed),
            *self._cordoned_records(broker, request.cordoned_log_dirs),
        ]
        if following is BrokerControlState.CONTROLLED_SHUTDOWN and (
            session.shutdown_offset is None or session.is_moving
        ):
            session.shutdown_offset = self._state.next_offset + len(records) - 1
            session.is_moving = self._replication.is_changing(broker.broker_id)
        session.has_ended = following is BrokerControlState.SHUTDOWN_NOW
        response = BrokerHeartbeatResponse(
            is_caught_up=is_caught_up,
            is_fenced=following.is_fenced,
            should_shut_down=following is BrokerControlState.SHUTDOWN_NOW,
        )
        return ControllerResult(tuple(records), response, is_atomic=False)

    def unregister_broker(self, broker_id: int) -> ControllerResult[None] | ApiError:
        """Unregister a broker, alive or not. Error: BROKER_ID_NOT_REGISTERED."""
        broker = self._state.image.cluster.brokers.get(broker_id)
        if broker is None:
            return ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"Broker ID {broker_id} is not currently registered")
        records = self._replication.broker_unregistered(broker_id)
        records.append(VersionedRecord(UnregisterBrokerRecord(broker_id, broker.broker_epoch), 0))
        return ControllerResult(tuple(records), None, is_atomic=False)

    def register_controller(
        self, request: ControllerRegistrationRequest, *, kraft_version: int
    ) -> ControllerResult[None] | ApiError:
        """Register a controller, whatever it said before. Error: UNSUPPORTED_VERSION, also below 3.7-IV0.

        Differs from Kafka: a controller that does not support what is finalized is refused. One that says nothing new
        appends nothing.
        """
        error = self._controller_registration_error(request, kraft_version)
        if error is not None:
            self.refusals.note("ControllerRegistration", request.controller_id, error)
            return error
        self.refusals.forget("ControllerRegistration", request.controller_id)
        registration = controller_registration(request)
        if self._state.image.cluster.controllers.get(request.controller_id) == registration:
            return ControllerResult((), None)
        return ControllerResult((VersionedRecord(*registration.to_record(self._state.metadata_version)),), None)

    def unregister_controller(self, controller_id: int) -> ControllerResult[None] | ApiError:
        """Unregister a controller (from 4.4-IV2). Errors: UNSUPPORTED_VERSION, CONTROLLER_ID_NOT_REGISTERED."""
        if not self._state.metadata_version.controller_unregistration_supported:
            return ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                "The current MetadataVersion is too old to support controller unregistration.",
            )
        if controller_id not in self._state.image.cluster.controllers:
            return ApiError(
                ErrorCode.CONTROLLER_ID_NOT_REGISTERED, f"Controller ID {controller_id} is not currently registered."
            )
        return ControllerResult((VersionedRecord(UnregisterControllerRecord(controller_id), 0),), None)

    @property
    def last_contact_ms(self) -> dict[int, int]:
        """Return the time of the last contact by broker id, as far as this controller knows."""
        return self._heartbeats.last_contact_ms

    def due(self, now_ms: int) -> Iterator[ControllerResult[None]]:
        """Fence the brokers whose sessions have timed out, one for each result."""
        while (expired := self._heartbeats.first_expired(now_ms)) is not None:
            broker_id, session = expired
            broker = self._state.image.cluster.brokers.get(broker_id)
            if broker is not None and broker.broker_epoch == session.broker_epoch and not broker.fenced:
                self._timed_out.append(broker_id)
                yield ControllerResult(tuple(self._fence(broker)), None, is_atomic=False)
            # Only now: a broker that is unfenced has a session, so that it will be fenced if this came to nothing.
            if not self._heartbeats.is_current(session, now_ms):
                self._heartbeats.drop(broker_id, session)

    def pop_timed_out(self) -> list[int]:
        """Remove and return the brokers that were fenced because their sessions timed out."""
        timed_out, self._timed_out = self._timed_out, []
        return timed_out

    @property
    def next_due_ms(self) -> int | None:
        """Return when `due` has work next, as Controller.next_due_ms."""
        return self._heartbeats.next_expiry_ms

    def _registration_error(
        self,
        request: BrokerRegistrationRequest,
        existing: BrokerRegistration | None,
        *,
        kraft_version: int,
        now_ms: int,
    ) -> ApiError | None:
        expected = self._settings.cluster_id
        if request.cluster_id != expected:
            return ApiError(
                ErrorCode.INCONSISTENT_CLUSTER_ID,
                f"Expected cluster ID {expected}, but got cluster ID {request.cluster_id}",
            )
        if existing is not None and existing.incarnation_id != request.incarnation_id and self._lives(existing, now_ms):
            return ApiError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                "Another broker is registered with that broker id. If the broker was recently restarted this should "
                "self-resolve once the heartbeat manager expires the broker's session.",
            )
        if request.is_migrating_zk_broker:
            return ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, "Controller does not support registering ZK brokers.")
        if self._state.metadata_version.directory_assignment_supported:
            error = directories_error(request.broker_id, request.log_dirs, self._state.image.cluster)
            if error is not None:
                return error
        if all(feature.name != METADATA_VERSION for feature in request.features):
            return ApiError(ErrorCode.INVALID_REGISTRATION, f"Request features do not contain '{METADATA_VERSION}'")
        return unsupported_feature_error("broker", request.features, self._finalized(kraft_version))

    def _controller_registration_error(
        self, request: ControllerRegistrationRequest, kraft_version: int
    ) -> ApiError | None:
        if not self._state.metadata_version.controller_registration_supported:
            return ApiError(
                ErrorCode.UNSUPPORTED_VERSION,
                "The current MetadataVersion is too old to support controller registrations.",
            )
        return unsupported_feature_error("controller", request.features, self._finalized(kraft_version))

    def _finalized(self, kraft_version: int) -> dict[str, int]:
        levels = self._state.image.features.levels(kraft_version=kraft_version)
        return {METADATA_VERSION: self._state.metadata_version.level, **levels}

    def _lives(self, broker: BrokerRegistration, now_ms: int) -> bool:
        """Return whether the broker's session has not timed out.

        Differs from Kafka: in Kafka 3 a fenced broker never counts, in Kafka 4 it does even after it was allowed to
        shut down, so that it cannot come back before its session has timed out.
        """
        session = self._heartbeats.session(broker.broker_id, broker.broker_epoch)
        if session is None or not self._heartbeats.is_current(session, now_ms):
            return False
        return not (broker.fenced and session.has_ended)

    def _registration_offset(self, broker_id: int) -> int:
        return self._registration_offsets.get(broker_id, self._first_offset - 1)

    def _others_are_caught_up(self, session: BrokerSession) -> bool:
        """Return whether every active broker has applied the metadata that moved leaderships off this one."""
        shutdown_offset = session.shutdown_offset
        assert shutdown_offset is not None
        if session.is_moving:
            return False
        for other in self._state.image.cluster.brokers.values():
            if other.fenced:
                continue
            theirs = self._heartbeats.session(other.broker_id, other.broker_epoch)
            assert theirs is not None, "an unfenced broker has a session"
            if theirs.shutdown_offset is None and theirs.metadata_offset < shutdown_offset:
                return False
        return True

    def _transition_records(
        self, broker: BrokerRegistration, current: BrokerControlState, following: BrokerControlState
    ) -> list[VersionedRecord]:
        if following is current:
            return []
        at = self._state.metadata_version
        if following is BrokerControlState.UNFENCED:
            return [unfence_record(broker, at), *self._replication.broker_unfenced(broker.broker_id)]
        if following is BrokerControlState.CONTROLLED_SHUTDOWN:
            return [
                *controlled_shutdown_records(broker, at),
                *self._replication.broker_shutting_down(broker.broker_id),
            ]
        # One that is fenced already only needs to hear that it may go.
        return [] if broker.fenced else self._fence(broker)

    def _fence(self, broker: BrokerRegistration) -> list[VersionedRecord]:
        changes = self._replication.broker_fenced(broker.broker_id)
        return [*changes, fence_record(broker, self._state.metadata_version)]

    def _failed_directories(self, broker: BrokerRegistration, request: BrokerHeartbeatRequest) -> frozenset[bytes]:
        if not request.offline_log_dirs or not self._state.metadata_version.directory_assignment_supported:
            return frozenset()
        return frozenset(broker.log_dirs).intersection(request.offline_log_dirs)

    def _offline_records(self, broker: BrokerRegistration, failed: frozenset[bytes]) -> list[VersionedRecord]:
        if not failed:
            return []
        records = self._replication.directories_offline(broker.broker_id, failed)
        if records is None:
            return []
        online = [directory for directory in broker.log_dirs if directory not in failed]
        # With none left the broker stops by itself; a record cannot say it, an empty list changes nothing.
        return [*records, log_dirs_record(broker, online)] if online else records

    def _cordoned_records(self, broker: BrokerRegistration, cordoned: Sequence[bytes] | None) -> list[VersionedRecord]:
        if cordoned is None or not self._state.metadata_version.cordoned_log_dirs_supported:
            return []
        known = broker.cordoned_log_dirs
        is_news = known is None or set(known) != set(cordoned)
        return [cordoned_log_dirs_record(broker, cordoned)] if is_news else []


def _control_state(broker: BrokerRegistration, session: BrokerSession) -> BrokerControlState:
    if broker.fenced:
        return BrokerControlState.FENCED
    # As in Kafka a new controller does not go by the registration: it moves what the former one could not.
    is_shutting_down = session.shutdown_offset is not None
    return BrokerControlState.CONTROLLED_SHUTDOWN if is_shutting_down else BrokerControlState.UNFENCED
