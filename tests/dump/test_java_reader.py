import pytest

from falkirk.dump.java_reader import JavaReadError, java_varint, read_as_java
from falkirk.protocol import codec
from falkirk.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from falkirk.protocol.messages.consumer_group_regular_expression_value import ConsumerGroupRegularExpressionValue
from falkirk.protocol.messages.group_metadata_value import GroupMetadataValue
from falkirk.protocol.messages.partition_change_record import PartitionChangeRecord
from falkirk.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from falkirk.protocol.messages.topic_record import TopicRecord


def refusal(cls, data, *, version=0, version_max=0):
    with pytest.raises(JavaReadError) as caught:
        read_as_java(cls, data, 0, version=version, version_max=version_max)
    return str(caught.value)


def test_what_the_codec_reads_is_read_alike():
    record = PartitionChangeRecord(partition_id=5, topic_id=bytes(range(16)), isr=(1, 2), leader=2)
    data = codec.encode(record, 2)
    assert read_as_java(PartitionChangeRecord, data, 0, version=2, version_max=2) == (record, len(data))


def test_strings_that_are_no_utf8_are_read():
    record, end = read_as_java(TopicRecord, b"\x03\xffa" + bytes(16) + b"\0", 0, version=0, version_max=0)
    assert (record.name, end) == ("\ufffda", 20)


def test_a_record_of_a_later_version_is_read_as_the_last_known_one():
    data = codec.encode(BrokerRegistrationChangeRecord(broker_id=7, cordoned_log_dirs=(bytes(16),)), 3)
    record, end = read_as_java(BrokerRegistrationChangeRecord, data, 0, version=3, version_max=2)
    # The tag of version 3 is not known to a release of version 2, and is passed over.
    assert (record.broker_id, record.cordoned_log_dirs, end) == (7, None, len(data))


def test_structs_in_a_record_of_a_later_version_refuse():
    data = codec.encode(RegisterBrokerRecord(end_points=[BrokerEndpoint(name="a", host="b")]), 4)
    assert refusal(RegisterBrokerRecord, data, version=4, version_max=3) == "Can't read version 4 of BrokerEndpoint"


def test_a_tag_of_another_version_is_refused():
    data = codec.encode(PartitionChangeRecord(eligible_leader_replicas=(1,)), 2)
    message = refusal(PartitionChangeRecord, data, version=0, version_max=2)
    assert message.startswith("Tag ")
    assert message.endswith(" is not valid for version 0")


TOO_LONG = "Varint is too long, the most significant bit in the 5th byte is set, converted value: ffffffff"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "null"),
        (b"\x05ab", "Error reading byte array of 4 byte(s): only 2 byte(s) available"),
        (b"\x00", "non-nullable field name was serialized as null"),
        (b"\x81\x80\x02", "string field name had invalid length 32768"),
        (b"\xff\xff\xff\xff\xff", TOO_LONG),
        (b"\xff\xff", "null"),
    ],
)
def test_refusals_of_a_string_are_in_kafkas_words(data, message):
    assert refusal(TopicRecord, data) == message


def test_refusals_of_arrays_are_in_kafkas_words():
    said = "Tried to allocate a collection of size 126, but there are only 1 bytes remaining."
    assert refusal(ConsumerGroupRegularExpressionValue, b"\x7f\x00") == said
    said = "non-nullable field topics element was serialized as null"
    assert refusal(ConsumerGroupRegularExpressionValue, b"\x02\x00" + bytes(18)) == said
    said = "non-nullable field topics was serialized as null"
    assert refusal(ConsumerGroupRegularExpressionValue, bytes(20)) == said
    said = "non-nullable field protocolType was serialized as null"
    assert refusal(GroupMetadataValue, b"\xff\xff", version=3, version_max=4) == said


@pytest.mark.parametrize(
    ("data", "value"),
    [("00", 0), ("7f", 127), ("8001", 128), ("ffffffff07", 2**31 - 1), ("8080808008", -(2**31)), ("ffffffff7f", -1)],
)
def test_varints_are_ints_of_java(data, value):
    assert java_varint(bytes.fromhex(data), 0) == (value, len(data) // 2)


def test_huge_sizes_are_refused():
    said = "string field name had invalid length 2147483646"
    assert refusal(TopicRecord, b"\xff\xff\xff\xff\x07") == said
    said = "Tried to allocate a collection of size 2147483646, but there are only 0 bytes remaining."
    assert refusal(ConsumerGroupRegularExpressionValue, b"\xff\xff\xff\xff\x07") == said
