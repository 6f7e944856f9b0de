"""Configurations and what real releases reported about each: the golden file of server.properties."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent.parent / "data" / "server_properties" / "refusals.jsonl"
RELEASES = ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A configuration and, by release, Kafka's error; None where it starts."""

    name: str
    properties: Mapping[str, str]
    kafka: Mapping[str, str | None]


def refusals() -> Sequence[Refusal]:
    """Return all refusals; the file lists an answer only where it differs from the previous release's."""
    found = []
    for text in FILE.read_text().splitlines():
        line = json.loads(text)
        said, last = {}, None
        for release in RELEASES:
            last = line["kafka"].get(release, last)
            said[release] = last
        found.append(Refusal(line["name"], line["properties"], said))
    return found
