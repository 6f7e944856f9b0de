"""What a handler gets and gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, Union

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.authorizer import Authorizer
    from falkirk.metadata.controller.controller import Controller
    from falkirk.metadata.controller.request_context import RequestContext
    from falkirk.metadata.controller.result import ControllerResult
    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.node.feature_update import FeatureUpdates
    from falkirk.node.fetch_sessions import FetchSessions
    from falkirk.node.group_coordinator.group_coordinator import GroupCoordinator
    from falkirk.node.producer_ids import ProducerIds
    from falkirk.node.replication.replica_manager import ReplicaManager
    from falkirk.node.topic_creation import TopicCreation
    from falkirk.protocol.chance import Chance
    from falkirk.protocol.connection import RequestReceived
    from falkirk.protocol.metadata_progress_tags import MetadataProgress
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.release import Release
    from falkirk.versions.supported_range import SupportedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """What a handler may look at.

    `image` is the last published (committed) one. `controller` is there only while the node is the active controller:
    handlers that need it never run without it, the dispatcher answers NOT_CONTROLLER in their place.
    `authorizer` allows everything where none is configured. `api_ranges`: what the listener serves where the request
    came in; a view is kept as long as nothing in it changes, so its parts may be compared by identity.
    `supported_features`: what the node tells of itself. `is_broker`: the request came in on a listener of the broker
    role. `leader_id`: who leads the quorum, None if nobody is known to. `features_epoch`: the last offset of the image
    with which the features last changed; None: that of the image itself (a controller tells the former to its clients,
    a broker the latter). `static_configs`: all of server.properties, as text. `replicas`, `groups`,
    `fetch_sessions`, `producer_ids`: the partitions of a broker, its group coordinator, what its clients fetch again
    and again, and the ids that it hands out; there on its listeners. `fetch_bytes_max`: fetch.max.bytes.
    `topic_creation`: creates topics that a broker's clients ask for. `feature_updates`: changes levels of features,
    where the node is a controller. `metadata_progress`: asks how far the node is with the metadata log. `random`: for
    what an answer leaves to chance.
    """

    node_id: int
    cluster_id: str
    release: Release
    image: MetadataImage
    authorizer: Authorizer
    controller: Controller | None
    now_ms: int
    api_ranges: Mapping[int, SupportedRange] = field(default_factory=dict)
    kraft_version: int = 0
    supported_features: Mapping[str, SupportedRange] = field(default_factory=dict)
    is_broker: bool = False
    leader_id: int | None = None
    features_epoch: int | None = None
    static_configs: Mapping[str, str] = field(default_factory=dict)
    replicas: ReplicaManager | None = None
    groups: GroupCoordinator | None = None
    fetch_sessions: FetchSessions | None = None
    producer_ids: ProducerIds | None = None
    fetch_bytes_max: int = 55 * 1024 * 1024
    topic_creation: TopicCreation | None = None
    feature_updates: FeatureUpdates | None = None
    metadata_progress: Callable[[], MetadataProgress] | None = None
    random: Chance | None = None


@dataclass(frozen=True, slots=True)
class EncodedResponse:
    """An answer that is bytes already, in the version of the request.

    `is_for_all`: it rests on nothing but the request's bytes, what the listener serves, and the image's features (of
    ApiVersions) or topics and brokers (of Metadata): until one of these changes, whoever sends the same bytes to such a
    listener gets the same answer, unread.
    """

    body: bytes
    is_for_all: bool = True


@dataclass(frozen=True, slots=True)
class InPieces:
    """An answer whose large fields of bytes go out as they are, without being copied once more."""

    message: WireMessage


@dataclass(frozen=True, slots=True)
class AskRaft:
    """The replica of the metadata log answers this request, at once or later."""


@dataclass(frozen=True, slots=True)
class NotController:
    """This node is the active controller no more."""


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The client wants no answer (Produce without acks); `close`: it must lose its connection, to learn of an error."""

    close: bool = False


LateAnswer = Union["WireMessage", EncodedResponse, InPieces, NoAnswer, "ControllerResult[WireMessage]", NotController]

Answer = Callable[[LateAnswer], None]
"""Takes the answer to one request, once. An EncodedResponse is not kept for others here.

A ControllerResult is appended at once: it has to be decided by the controller that is the active one in this step.
"""


# Made for each request for records: a Struct costs a fifth of a dataclass.
class AnswerLater(msgspec.Struct, frozen=True):
    """The answer comes later: `start` is called at once, and gives it to what it gets, then or in a later step."""

    start: Callable[[Answer], None]


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A request was inside this one: answer that, and put its answer back into an envelope."""

    request: RequestReceived
    context: RequestContext


ASK_RAFT = AskRaft()

HandlerResult = Union[
    "WireMessage",
    "ControllerResult[WireMessage]",
    EncodedResponse,
    AskRaft,
    AnswerLater,
    NoAnswer,
    Unwrapped,
]


class Handler(Protocol):
    """Answers one API, for all its versions.

    Gives a ControllerResult if records come of it, or the answer rests on the controller's state; else the response.
    """

    def __call__(self, view: NodeView, context: RequestContext, request: WireMessage) -> HandlerResult:
        """Decide. What the client did wrong is an error code in the response, never an exception."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """An API, its handler, and whether only the active controller answers it."""

    api_key: int
    handler: Handler
    needs_controller: bool
