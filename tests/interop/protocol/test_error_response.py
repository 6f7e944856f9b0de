"""Our responses to requests that failed as a whole, beside those of Kafka's own classes."""

import subprocess
from pathlib import Path

import pytest
from kafka_java import jvm_command
from message_strategies import even_message

from falkirk.protocol import codec
from falkirk.protocol.codec.layout import message_layout
from falkirk.protocol.error_response import error_response
from falkirk.protocol.messages import REQUESTS, RESPONSES, message_class
from falkirk.protocol.schema import WireStruct
from falkirk.versions.api_support import Listener
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release

pytestmark = pytest.mark.interop

JUDGE = Path(__file__).with_name("ErrorResponses.java")
NOT_CONTROLLER = 41
# In the older releases a refused Fetch has null for records, which some clients cannot read.
FETCH = 1


@pytest.mark.parametrize(
    "release",
    ["3.7.2", "4.4.0", *(pytest.param(name, marks=pytest.mark.full) for name in ("3.9.1", "4.0.0", "4.3.1"))],
)
def test_a_request_is_refused_as_kafka_refuses_it_in_every_version(release: str) -> None:
    offered = offered_by(Release.parse(release))
    requests = {(key, version): request_of(release, key, version) for key, version in offered}
    lines = [
        f"{key} {version} {codec.encode(request, version, layout=layout(release, REQUESTS[key])).hex()}\n"
        for (key, version), request in requests.items()
    ]
    theirs = judged(release, "".join(lines))
    assert len(theirs) == len(requests) > 250
    differences = []
    for (key, version), line in zip(requests, theirs, strict=True):
        found = layout(release, RESPONSES[key])
        cls = message_class(RESPONSES[key])
        expected = codec.decode(cls, version, bytes.fromhex(line), layout=found)
        ours = codec.encode(error_response(requests[key, version], version, NOT_CONTROLLER, "?"), version, layout=found)
        if comparable(codec.decode(cls, version, ours, layout=found)) != comparable(expected):
            differences.append((key, version, ours, line))
    assert differences == []


def offered_by(release: Release) -> list[tuple[int, int]]:
    listeners = (Listener.BROKER, Listener.CONTROLLER)
    return sorted(
        {
            (key, version)
            for listener in listeners
            for key, versions in release.api_ranges(listener, unstable=True).items()
            for version in versions
        }
    )


def request_of(release: str, key: int, version: int) -> WireStruct:
    cls = message_class(REQUESTS[key])
    return even_message(message_layout(cls, version, layout(release, REQUESTS[key])), 1, 1)


def layout(release: str, name: str) -> int | None:
    return layout_in(Release.parse(release), name)


def judged(release: str, lines: str) -> list[str]:
    command = jvm_command(release, str(JUDGE), [], log_level="error")
    done = subprocess.run(command, input=lines, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.splitlines()


def comparable(struct: WireStruct) -> WireStruct:
    """Blank what may differ: error messages; null records become empty."""
    for field in struct.SCHEMA.fields:
        value = getattr(struct, field.attribute)
        if field.attribute == "error_message":
            setattr(struct, field.attribute, "")
        elif field.attribute == "records" and value is None:
            setattr(struct, field.attribute, b"")
        elif not isinstance(field.type, str) and value is not None:
            for element in value if field.is_array else [value]:
                comparable(element)
    return struct
