"""Names of errors that peers send."""

from falkirk.protocol.error_codes import error_name


def test_an_error_is_named_as_kafka_names_it():
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(35) == "UNSUPPORTED_VERSION"


def test_an_error_of_a_release_to_come_is_named_by_its_number():
    assert error_name(12_345) == "error 12345"
