"""A line of falkirk's own request log: one JSON object, with the keys of Kafka's request logger.

    {"timestamp":1767225600123,"nodeId":1,"isForwarded":false,"requestHeader":{"requestApiKey":18,...},"request":{...},
     "response":{...},"connection":"127.0.0.1:9092-127.0.0.1:50000-0","totalTimeMs":1.5,...}

Kafka's logger writes the same object behind a prefix that its configuration decides; here time and node are in the
object, so that a line can be read without any configuration.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

UNKNOWN = "unknown"
"""A client's software before the client has named it."""
_ENCODER = msgspec.json.Encoder()


class RequestHeader(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Header of a request. `request_api_version_deprecated` is present only if true, as in Kafka."""

    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None
    request_api_key_name: str
    request_api_version_deprecated: bool = False


class ClientInformation(msgspec.Struct, rename="camel"):
    """The client's software, as named in its ApiVersions request."""

    software_name: str = UNKNOWN
    software_version: str = UNKNOWN


class RequestLine(msgspec.Struct, rename="camel", kw_only=True):
    """An answered request. Request and response are JSON objects in Kafka's JSON form; times are in ms."""

    timestamp: int
    node_id: int
    is_forwarded: bool = False
    request_header: RequestHeader
    request: msgspec.Raw
    response: msgspec.Raw
    # Both addresses, and a number that distinguishes connections of the same ports.
    connection: str
    total_time_ms: float = 0.0
    request_queue_time_ms: float = 0.0
    local_time_ms: float = 0.0
    remote_time_ms: float = 0.0
    throttle_time_ms: int = 0
    response_queue_time_ms: float = 0.0
    send_time_ms: float = 0.0
    security_protocol: str
    principal: str
    listener: str
    client_information: ClientInformation = msgspec.field(default_factory=ClientInformation)


def write_request_line(line: RequestLine) -> bytes:
    """Return the line with its end."""
    return _ENCODER.encode(line) + b"\n"


def write_kafka_line(line: RequestLine) -> bytes:
    """Return the line, with its end, in the layout of Kafka's logger: `[%d] %p %m (%c)%n`, the time in UTC.

    The object has time and node as well, which Kafka's has not.
    """
    time = datetime.fromtimestamp(line.timestamp // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    head = f"[{time},{line.timestamp % 1000:03d}] DEBUG Completed request:".encode()
    return head + _ENCODER.encode(line) + b" (kafka.request.logger)\n"
