import pytest
from hypothesis import given
from hypothesis import strategies as st
from znodes import KAFKA, hostile, read_or_refused

from falkirk.metadata.zookeeper.controller_znode import (
    decode_controller,
    decode_epoch,
    encode_controller,
    encode_epoch,
)
from falkirk.metadata.zookeeper.errors import ZnodeError

INT32_MAX = 2**31 - 1
CONTROLLER = KAFKA["brokers"]["no_settings"]["/controller"]


@given(st.integers(0, INT32_MAX), st.integers(0, 1 << 62))
def test_who_is_the_controller_is_read_as_it_was_written(broker_id, timestamp_ms):
    assert decode_controller(encode_controller(broker_id, timestamp_ms)) == broker_id


@given(st.integers(0, INT32_MAX))
def test_an_epoch_is_read_as_it_was_written(epoch):
    assert decode_epoch(encode_epoch(epoch)) == epoch


@given(hostile(CONTROLLER))
def test_whatever_stands_there_is_read_or_refused(data):
    for path, decode in (("/controller", decode_controller), ("/controller_epoch", decode_epoch)):
        number = read_or_refused(lambda decode=decode: decode(data), path)
        assert number is None or 0 <= number <= INT32_MAX


@pytest.mark.parametrize("settings", KAFKA["brokers"])
def test_the_znodes_of_kafka_have_the_bytes_of_ours(settings):
    written = KAFKA["brokers"][settings]
    (broker_id,) = (int(path.rpartition("/")[2]) for path in written if path.startswith("/brokers/ids/"))
    assert decode_controller(written["/controller"].encode()) == broker_id
    timestamp_ms = int(written["/controller"].partition('"timestamp":"')[2].partition('"')[0])
    assert encode_controller(broker_id, timestamp_ms) == written["/controller"].encode()
    assert encode_epoch(decode_epoch(written["/controller_epoch"].encode())) == written["/controller_epoch"].encode()


@pytest.mark.parametrize("version", ['"version":1', '"version":3', '"version":"x"', '"other":1'])
def test_the_version_of_the_schema_does_not_matter(version):
    assert decode_controller(CONTROLLER.replace('"version":2', version).encode()) == 7


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{}", "brokerid is missing"),
        ('{"brokerid":-1}', "brokerid is -1, not a whole number from 0 to 2147483647"),
        ('{"brokerid":2147483648}', "brokerid is 2147483648"),
        ('{"brokerid":true}', "brokerid is true"),
        ('{"brokerid":"1"}', 'brokerid is "1"'),
        ("7", "it is 7, not a JSON object"),
    ],
)
def test_a_controller_that_cannot_be_is_named(text, fault):
    with pytest.raises(ZnodeError, match=f"^znode /controller: {fault}"):
        decode_controller(text.encode())


@pytest.mark.parametrize("text", ["", "x", "-1", "+1", " 1", "1\n", "1.0", "2147483648", "1" * 5000, "٣"])
def test_an_epoch_that_cannot_be_is_named(text):
    with pytest.raises(ZnodeError, match=r"^znode /controller_epoch: it is .*, not a whole number from 0 to"):
        decode_epoch(text.encode())
