import pytest

from falkirk.dump.message_reader import read_message
from falkirk.protocol import codec
from falkirk.protocol.lax_reader import KafkaReader, ReadError
from falkirk.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from falkirk.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from falkirk.protocol.messages.partition_change_record import PartitionChangeRecord
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from falkirk.protocol.messages.topic_record import TopicRecord


def refusal(cls, data, *, version=0, version_max=0):
    with pytest.raises(ReadError) as caught:
        read_message(cls, data, 0, version=version, version_max=version_max)
    return str(caught.value)


def test_what_the_codec_reads_is_read_alike():
    record = PartitionChangeRecord(partition_id=5, topic_id=bytes(range(16)), isr=(1, 2), leader=2)
    data = codec.encode(record, 2)
    assert read_message(PartitionChangeRecord, data, 0, version=2, version_max=2) == (record, len(data))


def test_strings_that_are_no_utf8_are_read():
    record, end = read_message(TopicRecord, b"\x03\xffa" + bytes(16) + b"\0", 0, version=0, version_max=0)
    assert (record.name, end) == ("\ufffda", 20)


def test_a_record_of_a_later_version_is_read_as_the_last_known_one():
    data = codec.encode(BrokerRegistrationChangeRecord(broker_id=7, cordoned_log_dirs=(bytes(16),)), 3)
    record, end = read_message(BrokerRegistrationChangeRecord, data, 0, version=3, version_max=2)
    # The tag of version 3 is not known to a release of version 2, and is passed over.
    assert (record.broker_id, record.cordoned_log_dirs, end) == (7, None, len(data))


def test_structs_in_a_record_of_a_later_version_refuse():
    data = codec.encode(RegisterBrokerRecord(end_points=[BrokerEndpoint(name="a", host="b")]), 4)
    assert refusal(RegisterBrokerRecord, data, version=4, version_max=3) == "version 4 is not known (byte 30)"


def test_a_tag_of_another_version_is_refused():
    data = codec.encode(PartitionChangeRecord(eligible_leader_replicas=(1,)), 2)
    assert "belongs to another version" in refusal(PartitionChangeRecord, data, version=0, version_max=2)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut off"),
        (b"\x05ab", "4 bytes wanted, 2 are left"),
        (b"\x00", "name is null"),
        (b"\x81\x80\x02", "a string of 32768 bytes"),
        (b"\xff\xff\xff\xff\x07", "a string of 2147483646 bytes"),
        (b"\xff\xff\xff\xff\xff", "more than five bytes"),
    ],
)
def test_strings_that_do_not_fit_are_refused(data, reason):
    assert reason in refusal(TopicRecord, data)


def test_arrays_that_do_not_fit_are_refused():
    assert "126 elements, 1 bytes are left" in refusal(ConsumerGroupRegularExpressionValue, b"\x7f\x00")
    assert "topics is null" in refusal(ConsumerGroupRegularExpressionValue, b"\x02\x00" + bytes(18))
    assert "topics is null" in refusal(ConsumerGroupRegularExpressionValue, bytes(20))
    assert "2147483646 elements" in refusal(ConsumerGroupRegularExpressionValue, b"\xff\xff\xff\xff\x07")


@pytest.mark.parametrize(
    ("data", "value"),
    [("00", 0), ("7f", 127), ("8001", 128), ("ffffffff07", 2**31 - 1), ("8080808008", -(2**31)), ("ffffffff7f", -1)],
)
def test_varints_are_ints_of_java(data, value):
    reader = KafkaReader(bytes.fromhex(data))
    assert (reader.varint(), reader.position) == (value, len(data) // 2)
