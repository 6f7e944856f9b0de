"""What a broker's handlers look at, for tests: a small image, fake replicas; and asking them over the wire."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from fake_replicas import FakeReplicas
from metadata_images import image_of
from node_views import context_of, over_the_wire

from falkirk.metadata.authorizer import ALLOW_ALL
from falkirk.node.fetch_sessions import FetchSessions
from falkirk.node.handlers.handler import AnswerLater, EncodedResponse, InPieces, NoAnswer, NodeView
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.messages import PartitionRecord, RegisterBrokerRecord, TopicRecord
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.protocol.schema import WireMessage

A, B = b"a" * 16, b"b" * 16
LISTENER = "PLAINTEXT"
NODE_ID = 1


def broker_records() -> list[WireMessage]:
    """Brokers 1 and 2; topic `a` with two partitions led by 1, topic `b` with one led by 2, at epoch 5."""
    brokers = [
        RegisterBrokerRecord(
            broker_id=node_id,
            incarnation_id=bytes([node_id]) * 16,
            broker_epoch=10,
            end_points=[BrokerEndpoint(LISTENER, f"node{node_id}", 9092, 0)],
            rack=f"rack{node_id}",
            fenced=False,
        )
        for node_id in (1, 2)
    ]
    fields = {"replicas": (1, 2), "isr": (1, 2), "leader_epoch": 5, "partition_epoch": 0}
    return [
        *brokers,
        TopicRecord("a", A),
        TopicRecord("b", B),
        PartitionRecord(0, A, leader=1, **fields),
        PartitionRecord(1, A, leader=1, **fields),
        PartitionRecord(0, B, leader=2, **fields),
    ]


def broker_view(replicas: FakeReplicas | None = None, *, release: str = "4.3", **fields: Any) -> NodeView:
    """Give the view of broker 1; `fields` are those of NodeView."""
    image = fields.pop("image", None) or image_of(*broker_records())
    replicas = replicas or FakeReplicas()
    replicas.context.image = image
    view = NodeView(
        node_id=NODE_ID,
        cluster_id="cluster",
        release=Release.parse(release),
        image=image,
        authorizer=ALLOW_ALL,
        controller=None,
        now_ms=1_000,
        is_broker=True,
        replicas=replicas,
        fetch_sessions=FetchSessions(10, Random(1)),
    )
    return replace(view, **fields)


def ask_broker(view: NodeView, request: WireMessage, version: int | None = None, **context: Any) -> Any:
    """Send a request through the wire to its handler, and its answer back: a message, NoAnswer, or None: not yet."""
    return asked_later(view, request, version, **context)()


def asked_later(view: NodeView, request: WireMessage, version: int | None = None, **context: Any) -> Any:
    """Send a request; give a function that gives the answer that has come by then."""
    asked = context_of(request, version, **{"listener": LISTENER, **context})
    result = ROUTES[asked.api_key].handler(view, asked, over_the_wire(request, asked.api_version))
    answers: list[Any] = []
    if isinstance(result, AnswerLater):
        result.start(answers.append)
    else:
        answers.append(result)

    def answer() -> Any:
        assert len(answers) <= 1, "answered twice"
        return _told(answers[0], asked.api_version) if answers else None

    return answer


def _told(answer: Any, version: int) -> Any:
    if isinstance(answer, NoAnswer):
        return answer
    if isinstance(answer, InPieces):
        data = b"".join(codec.encode_pieces(answer.message, version))
        return codec.decode(type(answer.message), version, data)
    assert not isinstance(answer, EncodedResponse)
    return over_the_wire(answer, version)
