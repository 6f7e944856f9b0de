"""Every rule that can apply down to the floor finds its objects, its fields and its places in a table."""

import re

import pytest

from falkirk.metadata.losses.loss import UNKNOWN_TAG
from falkirk.metadata.losses.loss_catalogue import CATALOGUE, config_rules
from falkirk.pipeline.transforms.metadata_objects import METADATA_OBJECTS, place_column
from falkirk.versions.metadata_version import FLOOR
from falkirk.versions.release import Release

RULES = [
    rule for rule in (*CATALOGUE, *config_rules(FLOOR, Release.parse("3.7")))
    if rule.kind != UNKNOWN_TAG and rule.applies(FLOOR, elr_enabled=False)
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_a_rule_that_applies_at_the_floor_has_a_table_with_all_that_it_asks_for(rule):
    objects = METADATA_OBJECTS[rule.record]
    asked = set(re.findall(r"row\.(\w+)", rule.condition.expression))
    assert {*asked, *objects.key_columns, place_column(rule)} <= set(objects.table.schema.names)


@pytest.mark.parametrize("rule", [rule for rule in CATALOGUE if rule.written_by], ids=lambda rule: rule.kind)
def test_a_rule_with_writers_of_its_own_has_a_place_of_its_own(rule):
    assert place_column(rule).endswith("_written")


def test_rules_that_are_written_by_the_same_records_have_the_same_place():
    by_place = {}
    for rule in CATALOGUE:
        if rule.written_by:
            by_place.setdefault((rule.record, place_column(rule)), []).append(rule.written_by)
    assert all(writers == first for first, *others in by_place.values() for writers in others)
