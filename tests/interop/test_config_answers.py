"""What real releases define and refuse in server.properties: the tables and the golden file are held to it."""

import json
from pathlib import Path
from typing import Any

import pytest
from config_refusals import RELEASES, refusals
from kafka_java import run_program

from falkirk.node.config_definitions import definitions
from falkirk.versions.config_definition import Definition, DistinctListOf, ListOf, OneOf, Range, Required
from falkirk.versions.release import Release

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.xdist_group("kafka-2")]
QUICK = "4.3.1"
# Checked where the quorum and its listeners are read, or by the node that has the class.
CHECKED_ELSEWHERE = {
    "authorizer.class.name": "non-null string",
    "controller.quorum.bootstrap.servers": "non-empty list",
    "controller.quorum.voters": "non-empty list",
}


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.full]) for name in RELEASES]
)
def test_the_release_defines_and_refuses_what_is_written_down(release: str, tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([dict(case.properties) for case in refusals()]))
    kafka = json.loads(run_program("ConfigAnswers", [str(cases)], release=release))

    assert kafka["refusals"] == [case.kafka[release] for case in refusals()]
    ours = definitions(Release.parse(release))
    assert {name: told(one, kafka["definitions"][name]["valid"]) for name, one in ours.items()} == {
        name: one | ({"valid": None} if name in CHECKED_ELSEWHERE else {}) for name, one in kafka["definitions"].items()
    }


def told(definition: Definition, kafka_valid: str | None) -> dict[str, Any]:
    """A definition as Kafka tells it."""
    document: dict[str, Any] = {"type": definition.type.value}
    match definition.default:
        case Required():
            pass
        case tuple(entries):
            document["default"] = ",".join(entries)
        case bool(value):
            document["default"] = str(value).lower()
        case None:
            document["default"] = None
        case float(value):
            document["default"] = str(value).replace("e+", "E")
        case value:
            document["default"] = str(value)
    document["valid"] = valid(definition, kafka_valid)
    return document


def valid(definition: Definition, kafka_valid: str | None) -> str | None:
    match definition.validator:
        case None:
            # Older lists take anything, and say so with an empty text.
            return None
        case Range(minimum, maximum, None):
            parts = [*([] if minimum is None else [str(minimum)]), "...", *([] if maximum is None else [str(maximum)])]
            return f"[{','.join(parts)}]"
        case OneOf(words, ignores_case=ignores_case):
            return f"{'(case insensitive) ' if ignores_case else ''}[{', '.join(words)}]"
        case ListOf(words) | DistinctListOf(words):
            return f"[{', '.join(words)}]" if words else ""
        case _:
            # Metadata versions, levels of compression, texts that are not empty: what they take, tests of them say.
            assert kafka_valid is not None
            return kafka_valid
