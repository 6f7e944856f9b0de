"""Topics that go."""

from controllers import brokers, make_controller, run

from falkirk.metadata.controller.state.operation_limit import RECORDS_MAX
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import ConfigRecord, PartitionRecord, TopicRecord

A, B, C = (letter * 16 for letter in (b"a", b"b", b"c"))


def test_a_topic_goes_with_its_partitions_and_configs():
    controller = make_controller(
        brokers=brokers(1),
        records=[
            TopicRecord("a", A),
            PartitionRecord(0, A, replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0),
            ConfigRecord(2, "a", "retention.ms", "1000"),
            TopicRecord("b", B),
        ],
    )
    result = controller.replication.delete_topics([A, C])
    assert result.is_atomic
    errors = run(controller, result)
    assert errors[A].error_code == ErrorCode.NONE
    assert errors[C] == (ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    image = controller.state.image
    assert list(image.topics.by_name) == ["b"]
    assert not image.configs.resources
    assert not controller.replication.has_leaderships(1)


def test_an_id_that_comes_twice_goes_once():
    controller = make_controller(records=[TopicRecord("a", A)])
    assert len(controller.replication.delete_topics([A, A]).records) == 1


def test_too_many_at_once_are_refused():
    ids = [number.to_bytes(16, "big") for number in range(1000, 1001 + RECORDS_MAX)]
    records = [TopicRecord(f"t{number}", topic_id) for number, topic_id in enumerate(ids)]
    controller = make_controller(records=records)
    result = controller.replication.delete_topics(ids)
    assert not result.records
    assert {error.error_code for error in result.response.values()} == {ErrorCode.POLICY_VIOLATION}
    assert len(controller.replication.delete_topics(ids[1:]).records) == RECORDS_MAX
