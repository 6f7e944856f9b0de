"""Names of errors that peers send."""

from falkirk.protocol.error_codes import ErrorCode, error_name, known_error


def test_an_error_is_named_as_kafka_names_it():
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(35) == "UNSUPPORTED_VERSION"


def test_an_error_of_a_release_to_come_is_named_by_its_number():
    assert error_name(12_345) == "error 12345"
    assert known_error(12_345) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert known_error(35) is ErrorCode.UNSUPPORTED_VERSION
