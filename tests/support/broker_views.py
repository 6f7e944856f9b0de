"""Broker views for handler tests: a small image and fake replicas, asked over the wire."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from fake_groups import FakeGroups, FakeTransactions
from fake_replicas import FakeReplicas
from metadata_images import image_of
from node_views import broker_view_of, context_of, over_the_wire

from falkirk.node.broker.fetch_sessions import FetchSessions
from falkirk.node.broker.transaction_coordinator.marker_writer import MarkerWriter
from falkirk.node.handlers.parts.handler_result import (
    AnswerInSlices,
    AnswerLater,
    AnswerLaterInSlices,
    EncodedPieces,
    EncodedResponse,
    InPieces,
    NoAnswer,
)
from falkirk.node.handlers.routes import ROUTES
from falkirk.protocol import codec
from falkirk.protocol.messages import RESPONSES, PartitionRecord, RegisterBrokerRecord, TopicRecord, message_class
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint
from falkirk.slices import exhaust
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from falkirk.node.handlers.parts.view import BrokerView
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


def broker_view(replicas: FakeReplicas | None = None, *, release: str = "4.3", **fields: Any) -> BrokerView:
    """Return the view of broker 1; `fields` as `broker_view_of`."""
    image = fields.pop("image", None) or image_of(*broker_records())
    replicas = replicas or FakeReplicas()
    replicas.context.image = image
    groups = fields.setdefault("groups", FakeGroups())
    defaults = {
        "transactions": FakeTransactions(),
        "marker_writer": MarkerWriter(replicas, groups, 30_000),
        "node_id": NODE_ID,
        "cluster_id": "cluster",
        "now_ms": 1_000,
        "replicas": replicas,
        "fetch_sessions": FetchSessions(10, Random(1)),
    }
    return broker_view_of(image, Release.parse(release), **defaults | fields)


def ask_broker(view: BrokerView, request: WireMessage, version: int | None = None, **context: Any) -> Any:
    """Send a request over the wire to its handler. Returns the response, NoAnswer, or None if it is still pending."""
    return pending_response(view, request, version, **context)()


def pending_response(view: BrokerView, request: WireMessage, version: int | None = None, **context: Any) -> Any:
    """Send a request; return a function that returns the response once it has arrived."""
    asked = context_of(request, version, **{"listener": LISTENER, **context})
    result = ROUTES[asked.api_key].handler(view, asked, over_the_wire(request, asked.api_version))
    answers: list[Any] = []
    if isinstance(result, AnswerInSlices):
        result = exhaust(result.slices)
    if isinstance(result, AnswerLater):
        result.start(answers.append)
    elif isinstance(result, AnswerLaterInSlices):
        exhaust(result.start(answers.append))
    else:
        answers.append(result)

    def answer() -> Any:
        assert len(answers) <= 1, "answered twice"
        return _told(answers[0], asked.api_key, asked.api_version) if answers else None

    return answer


def _told(answer: Any, api_key: int, version: int) -> Any:
    if isinstance(answer, NoAnswer):
        return answer
    if isinstance(answer, InPieces):
        data = b"".join(codec.encode_pieces(answer.message, version))
        return codec.decode(type(answer.message), version, data)
    if isinstance(answer, AnswerInSlices):
        answer = exhaust(answer.slices)
    if isinstance(answer, EncodedPieces):
        return codec.decode(message_class(RESPONSES[api_key]), version, b"".join(answer.pieces))
    assert not isinstance(answer, EncodedResponse)
    return over_the_wire(answer, version)
