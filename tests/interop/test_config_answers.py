"""What real releases refuse in server.properties, against the golden file."""

import json
from pathlib import Path

import pytest
from config_refusals import RELEASES, refusals
from kafka_java import run_program

pytestmark = pytest.mark.interop
QUICK = "4.3.1"


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.full]) for name in RELEASES]
)
def test_the_release_refuses_what_is_written_down(release: str, tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps([dict(case.properties) for case in refusals()]))
    kafka = json.loads(run_program("ConfigAnswers", [str(cases)], release=release))

    assert kafka == [case.kafka[release] for case in refusals()]
