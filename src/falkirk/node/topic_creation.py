"""Topics that clients ask for are created if they are not there (auto.create.topics.enable).

The request goes to the active controller in the client's name, in an envelope; the client is told meanwhile that there
is no such topic, and asks again. Source: AutoTopicCreationManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.broker_configs import static_value
from falkirk.node.effects import Fact
from falkirk.node.forwarding import FORWARD_TIMEOUT_MS, client_envelope
from falkirk.node.internal_topics import creatable_topic
from falkirk.node.peers import PeerFailure
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.messages import CreateTopicsRequest, CreateTopicsResponse
from falkirk.versions.negotiation import highest_usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.node.active_controller_channel import ActiveControllerChannel
    from falkirk.node.effects import Effect
    from falkirk.node.node_state import NodeState
    from falkirk.protocol.schema import WireMessage

_CREATE_TOPICS: Final = 19
# Another broker was faster.
_NO_FAILURE: Final = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
# Topics under way at once: names come from clients, so there must be an end to them.
UNDER_WAY_MAX: Final = 10_000


class TopicCreation:
    """Asks for each topic once until that is answered, or has failed."""

    def __init__(self, state: NodeState, channel: ActiveControllerChannel, effects: Callable[[Effect], None]) -> None:
        self._state = state
        self._channel = channel
        self._effects = effects
        self._under_way: set[str] = set()
        configs = state.config.properties
        self.is_enabled = static_value(configs, state.config.release, "auto.create.topics.enable") is True

    def create(self, names: Iterable[str], context: RequestContext) -> None:
        """Ask the active controller to create topics with names that are possible, as the client of `context`."""
        new = [name for name in names if name not in self._under_way]
        version = self._version()
        if not new or version is None or len(self._under_way) + len(new) > UNDER_WAY_MAX:
            return
        # The frame without its length: what an envelope takes.
        connection = Connection(role=Role.CLIENT, client_id=context.client_id)
        _, data = connection.send_request(self._request(new), version)
        self._send(new, client_envelope(data[4:], context))

    def create_own(self, name: str) -> None:
        """Ask the active controller to create a coordinator's topic, as this broker: no client needs a right to it."""
        if name not in self._under_way:
            self._send([name], self._request([name]))

    def _request(self, names: Sequence[str]) -> CreateTopicsRequest:
        config = self._state.config
        return CreateTopicsRequest(
            topics=[creatable_topic(name, config.properties, config.release) for name in names],
            timeout_ms=FORWARD_TIMEOUT_MS,
        )

    def _send(self, names: Sequence[str], request: WireMessage) -> None:
        def answered(answer: WireMessage | PeerFailure) -> None:
            self._under_way.difference_update(names)
            if isinstance(answer, PeerFailure):
                self._tell_failure(names, answer.reason)
            elif isinstance(answer, CreateTopicsResponse):
                for topic in answer.topics:
                    if topic.error_code not in _NO_FAILURE:
                        self._tell_failure([topic.name], topic.error_message or error_name(topic.error_code))

        self._state.has_work = True
        if self._channel.send(request, timeout_ms=FORWARD_TIMEOUT_MS, done=answered):
            self._under_way.update(names)
            self._effects(Fact("info", "topics-are-created", {"topics": names}))

    def _tell_failure(self, names: Sequence[str], reason: str) -> None:
        self._effects(Fact("warning", "topic-creation-failed", {"topics": names, "reason": reason}))

    def _version(self) -> int | None:
        """Give the version of CreateTopics that controller and broker know; None if there is none."""
        own = self._state.config.release.apis[_CREATE_TOPICS].stable_versions
        ranges = self._channel.ranges
        assert own is not None, "all releases know it"
        return own.highest if ranges is None else highest_usable(own, ranges.get(_CREATE_TOPICS))
