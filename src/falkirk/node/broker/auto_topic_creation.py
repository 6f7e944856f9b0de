"""Creates missing topics that clients ask for (auto.create.topics.enable).

The request goes to the active controller in the client's name, in an envelope; meanwhile the client gets
UNKNOWN_TOPIC_OR_PARTITION, and retries. Source: AutoTopicCreationManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.broker.forwarding import FORWARD_TIMEOUT_MS
from falkirk.node.broker.internal_topics import creatable_topic
from falkirk.node.config.static_configs import static_value
from falkirk.node.connections.envelopes import client_envelope
from falkirk.node.connections.outbound_connections import RequestFailure
from falkirk.node.effects import Fact
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import CreateTopicsRequest, CreateTopicsResponse
from falkirk.versions.negotiation import highest_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from falkirk.metadata.requests.request_context import RequestContext
    from falkirk.node.connections.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.step import Step
    from falkirk.protocol.schema import WireMessage

_CREATE_TOPICS: Final = 19
# TOPIC_ALREADY_EXISTS: another broker was faster.
_NO_FAILURE: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
# Names come from clients, so their number needs a limit.
IN_FLIGHT_MAX: Final = 10_000


class AutoTopicCreation:
    """Requests each topic once until the response, or a failure."""

    def __init__(self, step: Step, channel: ActiveControllerChannel, effects: Callable[[Effect], None]) -> None:
        self._step = step
        self._channel = channel
        self._effects = effects
        self._in_flight: set[str] = set()
        configs = step.config.properties
        self.is_enabled = static_value(configs, step.config.release, "auto.create.topics.enable") is True

    def create(self, names: Iterable[str], context: RequestContext) -> None:
        """Request topics with valid names from the active controller, as the client of `context`."""
        new = [name for name in names if name not in self._in_flight]
        version = self._version()
        if not new or version is None or len(self._in_flight) + len(new) > IN_FLIGHT_MAX:
            return
        # An envelope has the frame without its length.
        connection = Connection(role=Role.CLIENT, client_id=context.client_id)
        _, data = connection.send_request(self._request(new), version)
        self._send(new, client_envelope(data[4:], context))

    def create_internal(self, name: str) -> None:
        """Request a coordinator's topic as this broker: no client needs a permission for it."""
        if name not in self._in_flight:
            self._send([name], self._request([name]))

    def _request(self, names: Sequence[str]) -> CreateTopicsRequest:
        config = self._step.config
        return CreateTopicsRequest(
            topics=[creatable_topic(name, config.properties, config.release) for name in names],
            timeout_ms=FORWARD_TIMEOUT_MS,
        )

    def _send(self, names: Sequence[str], request: WireMessage) -> None:
        def answered(answer: WireMessage | RequestFailure) -> None:
            self._in_flight.difference_update(names)
            if isinstance(answer, RequestFailure):
                self._log_failure(names, answer.reason)
            elif isinstance(answer, CreateTopicsResponse):
                for topic in answer.topics:
                    if topic.error_code not in _NO_FAILURE:
                        self._log_failure([topic.name], topic.error_message or error_name(topic.error_code))

        self._step.wake()
        # Before it is sent: it may fail at once.
        self._in_flight.update(names)
        if not self._channel.send(request, timeout_ms=FORWARD_TIMEOUT_MS, done=answered):
            self._in_flight.difference_update(names)
        elif self._in_flight.issuperset(names):
            self._effects(Fact("info", "topics-are-created", {"topics": names}))

    def _log_failure(self, names: Sequence[str], reason: str) -> None:
        self._effects(Fact("warning", "topic-creation-failed", {"topics": names, "reason": reason}))

    def _version(self) -> int | None:
        """Return the version of CreateTopics that controller and broker know; None if there is none."""
        own = self._step.config.release.apis[_CREATE_TOPICS].stable_versions
        ranges = self._channel.ranges
        assert own is not None, "all releases know it"
        return own.highest if ranges is None else highest_usable(own, ranges.get(_CREATE_TOPICS))
