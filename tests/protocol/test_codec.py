import tracemalloc
from functools import cache
from itertools import islice
from random import Random

import pytest
from golden_lines import golden_lines, layout_in
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from message_strategies import cases, even_message, message_strategy

from falkirk.protocol import codec, json_form, messages
from falkirk.protocol.codec import decoder_compiler
from falkirk.protocol.codec.decoder_compiler import OBJECT_WEIGHT, UNKNOWN_TAGS_MAX, compile_decoder
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.codec.reference import decode_reference, encode_reference
from falkirk.protocol.errors import (
    LocalProtocolError,
    RemoteProtocolError,
    TooManyElementsError,
    UnsupportedVersionError,
)
from falkirk.protocol.messages import alter_partition_request as alter_partition
from falkirk.protocol.messages import produce_request as produce
from falkirk.slices import exhaust

CASES = cases()
# As many as other tests have for one message.
MANY = settings().max_examples


@st.composite
def message_and_version(draw):
    cls, version, layout = draw(st.sampled_from(CASES))
    return draw(message_strategy(cls, version, layout)), version, layout


@pytest.mark.slow
@settings(max_examples=2 * MANY, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(message_and_version())
def test_decode_is_the_inverse_of_encode(case):
    message, version, layout = case
    data = codec.encode(message, version, layout=layout)
    assert codec.decode(type(message), version, data, layout=layout) == message
    resolved = message_layout(type(message), version, layout)
    assert encode_reference(resolved, message) == data
    assert decode_reference(resolved, data, 0) == (message, len(data))


@pytest.mark.slow
@settings(max_examples=MANY, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(message_and_version())
def test_the_json_form_holds_the_whole_message(case):
    message, version, layout = case
    form = json_form.to_json(message, version, layout=layout)
    again = json_form.from_json(type(message), version, form, layout=layout)
    json_form.set_records(again, version, json_form.records_of(message, version, layout=layout), layout=layout)
    tags = json_form.unknown_tags_of(message, version, layout=layout)
    json_form.set_unknown_tags(again, version, tags, layout=layout)
    assert again == message


@pytest.mark.parametrize(("outer", "inner"), [(0, 0), (1, 1), (8, 0), (8, 1), (8, 2)])
def test_arrays_of_elements_that_are_alike_go_both_ways_in_every_message(outer, inner):
    for cls, version, layout in CASES:
        resolved = message_layout(cls, version, layout)
        message = even_message(resolved, outer, inner)
        data = codec.encode(message, version, layout=layout)
        assert data == encode_reference(resolved, message), (cls.__name__, version, layout)
        assert codec.decode(cls, version, data, layout=layout) == message, (cls.__name__, version, layout)


def outcome_of(decode, data):
    """Return what a decoder makes of bytes: the message and its end, or that it refuses them."""
    try:
        return decode(data, 0)
    except decoder_compiler.FAST_PATH_ERRORS:
        return "refused"


def damaged(data, random):
    """Cut the bytes, overwrite one, or put in a length that cannot be true."""
    kind = random.randrange(3)
    at = random.randrange(len(data)) if data else 0
    if kind == 0:
        return data[:at]
    junk = (
        bytes([random.randrange(256)]) if kind == 1 else random.choice([b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff"])
    )
    return data[:at] + junk + data[at + len(junk) :]


@pytest.mark.slow
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize("release", ["3.7.2", "4.4.0"])
def test_damaged_bytes_are_refused_or_read_alike_by_both_codecs(release, step):
    random = Random(release)

    @cache
    def compiled(name, version):
        layout = message_layout(messages.message_class(name), version, layout_in(release, name))
        decode = compile_decoder(layout, "test", counts_elements=True)
        return layout, lambda buffer, at: decode(buffer, at, decoder_compiler.UNLIMITED)

    for line in islice(golden_lines(release), 0, None, step):
        version = line["version"]
        layout, fast = compiled(line["name"], version)
        for _ in range(5):
            data = damaged(bytes.fromhex(line["hex"]), random)
            slow = outcome_of(lambda buffer, at, layout=layout: decode_reference(layout, buffer, at), data)
            # NaN is the one value that differs from itself.
            assert repr(outcome_of(fast, data)) == repr(slow), (line["name"], version, data.hex())


def test_every_truncation_is_refused_with_offset_and_field():
    request = messages.UpdateFeaturesRequest(feature_updates=[])
    request.feature_updates.append(type(request).SCHEMA.fields[1].type(feature="metadata.version", max_version_level=7))
    data = codec.encode(request, 1)
    for end in range(len(data)):
        with pytest.raises(RemoteProtocolError) as caught:
            codec.decode(messages.UpdateFeaturesRequest, 1, data[:end])
        assert caught.value.offset <= end
    with pytest.raises(RemoteProtocolError, match=r"byte 5 in /featureUpdates/0/feature\)"):
        codec.decode(messages.UpdateFeaturesRequest, 1, data[:8])


def test_elements_of_all_arrays_of_a_request_count_together():
    partitions = [alter_partition.PartitionData(0, 0, (1, 2, 3)) for _ in range(20)]
    request = messages.AlterPartitionRequest(
        1, 1, [alter_partition.TopicData(topic_id=bytes(16), partitions=partitions)]
    )
    for version in (0, 2):
        # A topic is more than numbers.
        elements = OBJECT_WEIGHT + 20 + 60
        data = codec.encode(request, version)
        codec.decode_prefix(type(request), version, data, elements_max=elements)
        exhaust(codec.decode_prefix_in_slices(type(request), version, data, 0, elements_max=elements))
        with pytest.raises(TooManyElementsError):
            codec.decode_prefix(type(request), version, data, elements_max=elements - 1)
        with pytest.raises(TooManyElementsError):
            exhaust(codec.decode_prefix_in_slices(type(request), version, data, 0, elements_max=elements - 1))


@pytest.mark.parametrize("has_tags", [False, True])
def test_unknown_tagged_fields_of_a_request_count_and_are_few(has_tags):
    # Fetch has tagged fields of its own.
    cls, version = (messages.FetchRequest, 12) if has_tags else (messages.FindCoordinatorRequest, 3)
    tags = tuple((100 + number, b"x") for number in range(UNKNOWN_TAGS_MAX))
    known = {"cluster_id": "c"} if has_tags else {}
    request = cls(**known, unknown_tagged_fields=tags)
    data, elements = codec.encode(request, version), OBJECT_WEIGHT * len(tags)
    more = codec.encode(cls(**known, unknown_tagged_fields=(*tags, (99, b""))), version)
    assert codec.decode_prefix(cls, version, data, elements_max=elements) == (request, len(data))
    for refused, elements_max in ((data, elements - 1), (more, decoder_compiler.UNLIMITED)):
        with pytest.raises(TooManyElementsError):
            codec.decode_prefix(cls, version, refused, elements_max=elements_max)
        with pytest.raises(TooManyElementsError):
            exhaust(codec.decode_prefix_in_slices(cls, version, refused, 0, elements_max=elements_max))


def test_every_request_is_decoded_in_slices_as_it_is_at_once():
    for cls, version, layout in CASES:
        if cls.SCHEMA.info.kind != "request" or layout is not None:
            continue
        message = even_message(message_layout(cls, version, None), 2, 2)
        data = codec.encode(message, version)
        slices = codec.decode_prefix_in_slices(cls, version, data, 0, elements_max=decoder_compiler.UNLIMITED)
        assert exhaust(slices) == (message, len(data)), (cls.__name__, version)


@pytest.mark.parametrize("counts", [(5_000, 1, 1), (1, 5_000, 1), (1, 1, 5_000)])
def test_a_thousand_elements_of_a_request_are_decoded_in_a_slice(counts):
    topic_count, partition_count, isr_size = counts
    isr = [alter_partition.BrokerState(1, 1)] * isr_size
    partition = alter_partition.PartitionData(0, 0, new_isr_with_epochs=isr)
    topic = alter_partition.TopicData(topic_id=bytes(16), partitions=[partition] * partition_count)
    topics = [topic] * topic_count
    data = codec.encode(messages.AlterPartitionRequest(1, 1, topics), 3)
    slices = codec.decode_prefix_in_slices(
        messages.AlterPartitionRequest, 3, data, 0, elements_max=decoder_compiler.UNLIMITED
    )
    assert len(list(slices)) >= 4
    with pytest.raises(RemoteProtocolError, match="AlterPartitionRequest does not parse"):
        exhaust(codec.decode_prefix_in_slices(messages.AlterPartitionRequest, 3, data[:-1], 0, elements_max=1_000_000))


def test_a_large_request_that_does_not_parse_is_not_read_twice():
    request = messages.DescribeGroupsRequest(groups=("g",) * 200_000)
    damaged_at_the_end = codec.encode(request, 5)[:-2]
    with pytest.raises(RemoteProtocolError, match="DescribeGroupsRequest does not parse"):
        codec.decode_prefix(type(request), 5, damaged_at_the_end, elements_max=1_000_000)


def test_many_unknown_tagged_fields_are_kept_in_order():
    tags = tuple((100 + number, b"x") for number in range(3_000))
    request = messages.FetchRequest(unknown_tagged_fields=tags)
    assert codec.decode(messages.FetchRequest, 13, codec.encode(request, 13)).unknown_tagged_fields == tags


def test_small_pieces_are_joined_and_large_ones_stay_as_they_are():
    large = memoryview(bytes(100_000))
    partitions = [produce.PartitionProduceData(number, large if number == 2_000 else b"r") for number in range(4_000)]
    request = messages.ProduceRequest(None, 1, 1, [produce.TopicProduceData("t", partition_data=partitions)])
    pieces = codec.encode_pieces(request, 9)
    assert len(pieces) < 30
    assert [piece for piece in pieces if piece is large] == [large]
    assert b"".join(pieces) == codec.encode(request, 9)
    assert codec.decode(messages.ProduceRequest, 9, b"".join(pieces)) == request


def test_bytes_left_over_are_refused():
    data = codec.encode(messages.NoOpRecord(), 0)
    with pytest.raises(RemoteProtocolError, match=r"2 bytes left over \(byte 1\)"):
        codec.decode(messages.NoOpRecord, 0, data + b"ab")


@pytest.mark.parametrize(
    ("version", "data", "reason"),
    [
        (0, b"\x7f\xff\xff\xff", "2147483647 elements cannot be in the 0 bytes that are left"),
        (0, b"\xff\xff\xff\xfe", "negative length -2"),
        (0, b"\x00\x00\x00\x01\xff\xfe", "negative length -2"),
        (0, b"\x00\x00\x00\x01\xff\xff", "null where none may stand"),
        (0, b"\x00\x00\x00\x01\x00\x02\xff\xff", "string is not UTF-8"),
        (9, b"\xff\xff\xff\xff\x1f", "varint has more than 32 bits"),
        (9, b"\xff\xff\xff\xff\xff\xff", "varint is longer than 5 bytes"),
        (9, b"\x02\x82\x80\x02", "string of 32769 bytes, more than 32767"),
        (9, b"\x01\x00\x00\x00\x01\x05\x7f", "127 bytes|126 bytes wanted, 0 left"),
    ],
)
def test_hostile_lengths_are_refused_by_name(version, data, reason):
    with pytest.raises(RemoteProtocolError, match=reason):
        codec.decode(messages.MetadataRequest, version, data)


@pytest.mark.parametrize("count", [b"\x7f\xff\xff\xff", b"\x00\x0f\x42\x40"])
def test_a_count_that_cannot_be_true_allocates_nothing_for_it(count):
    data = count + bytes(1000)
    codec_warm_up(data)
    tracemalloc.start()
    with pytest.raises(RemoteProtocolError):
        codec.decode(messages.MetadataRequest, 0, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * len(data)


def codec_warm_up(data):
    with pytest.raises(RemoteProtocolError):
        codec.decode(messages.MetadataRequest, 0, data)


def test_a_value_out_of_range_names_its_field():
    with pytest.raises(LocalProtocolError, match="/brokerId is 4294967296, which int32 cannot hold"):
        codec.encode(messages.UnregisterBrokerRecord(broker_id=2**32), 0)
    with pytest.raises(LocalProtocolError, match="/name is null, and may not be"):
        codec.encode(messages.TopicRecord(name=None), 0)
    with pytest.raises(LocalProtocolError, match="/topicId is b'short', not the 16 bytes of a uuid"):
        codec.encode(messages.TopicRecord(topic_id=b"short"), 0)
    with pytest.raises(LocalProtocolError, match="/name has 40000 bytes, more than 32767"):
        codec.encode(messages.TopicRecord(name="x" * 40000), 0)


def test_a_version_that_the_message_never_had_is_named():
    with pytest.raises(UnsupportedVersionError, match="TopicRecord has no version 7; it has 0"):
        codec.encode(messages.TopicRecord(), 7)
    with pytest.raises(UnsupportedVersionError, match="TopicRecord has no version 7; it has 0"):
        codec.decode(messages.TopicRecord, 7, b"")


def test_unknown_tagged_fields_survive_between_known_ones():
    record = messages.PartitionRecord(eligible_leader_replicas=(1,), unknown_tagged_fields=((9, b"new"), (700, b"")))
    data = codec.encode(record, 2)
    assert codec.decode(messages.PartitionRecord, 2, data) == record
    assert data.endswith(b"\x03\x01\x05\x02\x00\x00\x00\x01\x09\x03new\xbc\x05\x00")
