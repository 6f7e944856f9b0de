"""Answers that are put together from topics that were written before."""

import pytest
from controllers import Broker, directory, make_image
from hypothesis import given, settings
from hypothesis import strategies as st
from image_answers import ask_about
from message_strategies import message_strategy

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import Provenance
from falkirk.node.handlers.parts import encoded_topics
from falkirk.node.handlers.parts.broker_endpoints import broker_endpoints
from falkirk.node.handlers.parts.encoded_topics import encode_response, encode_topic
from falkirk.protocol import codec
from falkirk.protocol.messages import (
    BrokerRegistrationChangeRecord,
    MetadataRequest,
    MetadataResponse,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from falkirk.slices import exhaust

VERSIONS = range(14)


@pytest.mark.slow
@settings(max_examples=settings().max_examples // 3)  # messages of many versions take long to make
@given(data=st.data(), version=st.sampled_from(VERSIONS))
def test_an_answer_in_pieces_is_the_answer(data, version):
    response = data.draw(message_strategy(MetadataResponse, version, None))
    response.unknown_tagged_fields = ()
    whole = codec.encode(response, version)
    topics = [encode_topic(topic, version) for topic in response.topics]
    response.topics = []
    assert b"".join(exhaust(encode_response(response, topics, version))) == whole


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [126, 127, 128, 20_000])
def test_any_number_of_topics_can_be_counted(version, count):
    topic = encode_topic(MetadataResponse.SCHEMA.fields[4].type(name="t"), version)
    pieces = exhaust(encode_response(MetadataResponse(), [topic] * count, version))
    answer = codec.decode(MetadataResponse, version, b"".join(pieces))
    assert len(answer.topics) == count


def test_a_large_response_is_joined_a_piece_in_each_slice(monkeypatch):
    monkeypatch.setattr(encoded_topics, "PIECE_BYTES", 100)
    topic = encode_topic(MetadataResponse.SCHEMA.fields[4].type(name="t" * 50), 12)
    slices, count = encode_response(MetadataResponse(), [topic] * 100, 12), 0
    while True:
        try:
            next(slices)
        except StopIteration as end:
            pieces = end.value
            break
        count += 1
    assert count == len(pieces) - 2 > 40
    assert max(map(len, pieces)) < 100 + len(topic)
    assert len(codec.decode(MetadataResponse, 12, b"".join(pieces)).topics) == 100


def topic_id(name):
    return name.encode().ljust(16, b".")


def an_image():
    records = []
    for name in ("a", "b"):
        records.append(TopicRecord(name, topic_id(name)))
        records.append(
            PartitionRecord(
                0, topic_id(name), (1, 2), (1, 2), leader=1, directories=tuple(directory(each) for each in (1, 2))
            )
        )
    return make_image(release="4.3", brokers=[Broker(broker_id=1), Broker(broker_id=2)], records=records)


def changed(image, record):
    delta = MetadataDelta(image)
    delta.replay(record)
    return delta.apply(Provenance(image.provenance.end_offset + 1, 1, 0))


def told(image):
    response = ask_about(image, MetadataRequest(None), 12)
    return {
        topic.name: [(each.leader_id, each.isr_nodes, each.offline_replicas) for each in topic.partitions]
        for topic in response.topics
    }


def test_what_is_kept_is_told_as_long_as_it_is_true():
    image = an_image()
    assert told(image) == told(image) == {"a": [(1, (1, 2), ())], "b": [(1, (1, 2), ())]}
    image = changed(image, PartitionChangeRecord(0, topic_id("a"), isr=[2], leader=2))
    assert told(image) == {"a": [(2, (2,), ())], "b": [(1, (1, 2), ())]}
    broker = image.cluster.brokers[2]
    image = changed(image, BrokerRegistrationChangeRecord(2, broker.broker_epoch, fenced=1))
    assert told(image) == {"a": [(2, (2,), (2,))], "b": [(1, (1, 2), (2,))]}
    image = changed(image, RemoveTopicRecord(topic_id("a")))
    assert told(image) == {"b": [(1, (1, 2), (2,))]}
    image = changed(image, TopicRecord("a", b"?" * 16))
    assert told(image) == {"b": [(1, (1, 2), (2,))], "a": []}


def test_only_what_changed_is_written_anew():
    image = an_image()
    written = []

    def describe(topic):
        written.append(topic.name)
        return MetadataResponse.SCHEMA.fields[4].type(name=topic.name)

    known = encoded_topics.EncodedTopics(12, describe)
    for _ in range(2):
        for topic in image.topics:
            known.encode(topic)
    image = changed(image, PartitionChangeRecord(0, topic_id("a"), isr=[2], leader=2))
    for topic in image.topics:
        known.encode(topic)
    assert written == ["a", "b", "a"]


def test_no_more_is_kept_than_there_may_be(monkeypatch):
    monkeypatch.setattr(encoded_topics, "_BYTES_MAX", 200)
    known = encoded_topics.EncodedTopics(12, lambda topic: MetadataResponse.SCHEMA.fields[4].type(name=topic.name))
    records = [TopicRecord(f"t{index}", bytes([index]) * 16) for index in range(1, 50)]
    for topic in make_image(records=records).topics:
        assert topic.name.encode() in known.encode(topic)
    assert 0 < sum(len(data) for _, data in known._known.values()) <= 200
    image = an_image()
    for number in range(20):
        encoded_topics.encoded_topics(broker_endpoints(image.cluster, str(number)), "4.3.1", 12, lambda _: None)
    assert len(encoded_topics._CACHE) <= 8
