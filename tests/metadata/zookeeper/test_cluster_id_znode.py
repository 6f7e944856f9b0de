import pytest
from hypothesis import given
from hypothesis import strategies as st
from znodes import KAFKA, hostile, read_or_refused

from falkirk.metadata.zookeeper.cluster_id_znode import decode_cluster_id, encode_cluster_id
from falkirk.metadata.zookeeper.errors import ZnodeError

WRITTEN = [znodes["/cluster/id"] for znodes in KAFKA["brokers"].values()]


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30))
def test_an_id_is_read_as_it_was_written(cluster_id):
    assert decode_cluster_id(encode_cluster_id(cluster_id)) == cluster_id


@given(hostile(WRITTEN[0]))
def test_whatever_stands_there_is_read_or_refused(data):
    cluster_id = read_or_refused(lambda: decode_cluster_id(data), "/cluster/id")
    assert cluster_id is None or decode_cluster_id(encode_cluster_id(cluster_id)) == cluster_id


@pytest.mark.parametrize("text", WRITTEN)
def test_the_znode_of_kafka_has_the_bytes_of_ours(text):
    cluster_id = decode_cluster_id(text.encode())
    assert len(cluster_id) == 22
    assert encode_cluster_id(cluster_id) == text.encode()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"version":"1"}', "id is missing"),
        ('{"id":1}', "id is 1, not a text"),
        ('{"id":""}', "id is not a text of 1 to 32767 bytes"),
        ("[]", "it is a list"),
    ],
)
def test_an_id_that_cannot_be_is_named(text, fault):
    with pytest.raises(ZnodeError, match=f"^znode /cluster/id: {fault}"):
        decode_cluster_id(text.encode())
