"""The facts of configs are what the classes of each real release say of themselves; the tables are made of them."""

import json

import pytest
from config_facts import RELEASES, config_facts, write_config_facts
from kafka_java import run_program

pytestmark = pytest.mark.interop
QUICK = "4.3.1"


@pytest.mark.parametrize(
    "release", [pytest.param(name, marks=[] if name == QUICK else [pytest.mark.full]) for name in RELEASES]
)
def test_the_facts_are_what_the_release_says(release: str, request: pytest.FixtureRequest) -> None:
    found = json.loads(run_program("ConfigFacts", [], release=release))
    if request.config.getoption("--update-golden"):
        write_config_facts(release, found)
    assert found == json.loads(config_facts(release))
