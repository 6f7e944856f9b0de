"""Falkirk's request log: what is written is read, and has Kafka's own keys."""

import json

import msgspec
import pytest
from request_lines import read_request_line

from falkirk.storage.request_line import (
    ClientInformation,
    RequestHeader,
    RequestLine,
    write_kafka_line,
    write_request_line,
)

HEADER = RequestHeader(
    request_api_key=18,
    request_api_version=3,
    correlation_id=7,
    client_id="admin \u2713",
    request_api_key_name="API_VERSIONS",
)
LINE = RequestLine(
    timestamp=1_767_225_600_123,
    node_id=1,
    request_header=HEADER,
    request=msgspec.Raw(b'{"clientSoftwareName":"falkirk","clientSoftwareVersion":"1"}'),
    response=msgspec.Raw(b'{"errorCode":0}'),
    connection="127.0.0.1:9092-127.0.0.1:50000-0",
    total_time_ms=1.5,
    security_protocol="PLAINTEXT",
    principal="User:ANONYMOUS",
    listener="PLAINTEXT",
    client_information=ClientInformation("falkirk", "1"),
)


def test_a_line_that_was_written_is_read():
    written = write_request_line(LINE)
    assert written.endswith(b"}\n")
    assert written.count(b"\n") == 1
    assert read_request_line(written) == LINE
    assert read_request_line(written.rstrip()) == LINE


def test_a_line_has_the_keys_of_kafkas_logger_and_time_and_node():
    document = json.loads(write_request_line(LINE))
    assert list(document) == [
        "timestamp",
        "nodeId",
        "isForwarded",
        "requestHeader",
        "request",
        "response",
        "connection",
        "totalTimeMs",
        "requestQueueTimeMs",
        "localTimeMs",
        "remoteTimeMs",
        "throttleTimeMs",
        "responseQueueTimeMs",
        "sendTimeMs",
        "securityProtocol",
        "principal",
        "listener",
        "clientInformation",
    ]
    assert document["clientInformation"] == {"softwareName": "falkirk", "softwareVersion": "1"}


@pytest.mark.parametrize("deprecated", [False, True])
def test_a_version_is_called_deprecated_only_where_it_is(deprecated):
    header = msgspec.structs.replace(HEADER, request_api_version_deprecated=deprecated)
    line = msgspec.structs.replace(LINE, request_header=header)
    document = json.loads(write_request_line(line))
    assert ("requestApiVersionDeprecated" in document["requestHeader"]) is deprecated
    assert read_request_line(write_request_line(line)) == line


def test_a_line_in_kafkas_layout_has_its_prefix_and_its_loggers_name():
    line = msgspec.structs.replace(LINE, timestamp=1_767_225_600_007)
    written = write_kafka_line(line)
    head, _, rest = written.partition(b"{")
    assert head == b"[2026-01-01 00:00:00,007] DEBUG Completed request:"
    assert b"{" + rest == write_request_line(line).rstrip() + b" (kafka.request.logger)\n"
