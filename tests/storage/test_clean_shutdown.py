import pytest
from storage_files import STORAGE, label

from falkirk.storage.clean_shutdown import CleanShutdown, format_clean_shutdown, parse_clean_shutdown
from falkirk.storage.errors import CorruptFileError


@pytest.mark.parametrize("path", sorted(STORAGE.rglob(".kafka_cleanshutdown")), ids=label)
def test_clean_shutdowns_of_kafka_are_written_byte_for_byte(path):
    assert format_clean_shutdown(parse_clean_shutdown(path.read_bytes())) == path.read_bytes()


def test_both_forms_of_a_clean_shutdown_are_read():
    assert parse_clean_shutdown(b"") == CleanShutdown()
    assert format_clean_shutdown(CleanShutdown()) == b""
    shutdown = CleanShutdown(version=0, broker_epoch=10)
    assert parse_clean_shutdown(b'{"version":0,"brokerEpoch":10}') == shutdown
    assert format_clean_shutdown(CleanShutdown(broker_epoch=10)) == format_clean_shutdown(shutdown)


@pytest.mark.parametrize(
    "data", [b"{}", b"x", b'{"version":0,"brokerEpoch":null}', b'{"brokerEpoch":9223372036854775808}']
)
def test_a_wrong_clean_shutdown_is_named(data):
    with pytest.raises(CorruptFileError, match=r"\.kafka_cleanshutdown: content is malformed"):
        parse_clean_shutdown(data)
