import pytest

from falkirk.protocol.uuid import parse_uuid
from falkirk.storage.formatting.dynamic_voters import parse_dynamic_voters, voters_record
from falkirk.storage.formatting.errors import FormatterError

ID = "JEXY6aqzQY-32P5TStzaFg"


def test_voters_are_read_by_rising_id():
    voters = parse_dynamic_voters(f" 12@b.example:9093:{ID},,+3@[::1]:0:{ID} ")
    assert [(voter.node_id, voter.host, voter.port) for voter in voters.values()] == [
        (3, "::1", 0),
        (12, "b.example", 9093),
    ]
    assert voters[3].directory_id == parse_uuid(ID)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"@a:1:{ID}", "Invalid @ at beginning of dynamic voter string."),
        ("1@", "No hostname found after node id."),
        ("1@host", "No colon following hostname could be found."),
        (f"1@[::1]9093:{ID}", "Port section must start with a colon."),
        (f"2147483648@a:1:{ID}", "Failed to parse node id in dynamic voter string."),
        (f"1@a: 1:{ID}", "Failed to parse port in dynamic voter string."),
        (f"1@a:1:{ID}:more", "Failed to parse directory ID in dynamic voter string."),
        (",", "No voters given."),
    ],
)
def test_what_is_malformed_is_refused_in_kafkas_words(text, message):
    with pytest.raises(FormatterError) as raised:
        parse_dynamic_voters(text)
    assert str(raised.value) == message


def record_of(*ids, host="a"):
    return voters_record(parse_dynamic_voters(",".join(f"{node_id}@{host}:1:{ID}" for node_id in ids)), "controller")


def test_voters_are_written_in_the_order_of_javas_hash_tables():
    """As real Kafka wrote 17, 1, 9 and 17, 1, 9, 8 (tests/interop)."""
    assert [voter.voter_id for voter in record_of(17, 1, 9).voters] == [1, 17, 9]
    assert [voter.voter_id for voter in record_of(17, 1, 9, 8).voters] == [8, 1, 17, 9]
    assert [voter.voter_id for voter in record_of(3, 2, 1).voters] == [1, 2, 3]


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("", "localhost"),
        ("[::1]", "0:0:0:0:0:0:0:1"),
        ("[2001:db8::a]", "2001:db8:0:0:0:0:0:a"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
def test_hosts_are_written_as_java_gives_them_back(host, written):
    [voter] = record_of(1, host=host).voters
    [endpoint] = voter.endpoints
    assert (endpoint.name, endpoint.host, endpoint.port) == ("CONTROLLER", written, 1)
    assert voter.kraft_version_feature.max_supported_version == 1
