"""Conditions as columns hold for exactly the rows for which they hold as functions."""

import re
from random import Random
from types import SimpleNamespace
from typing import get_args

import pyarrow as pa
import pytest

from falkirk.metadata.losses import condition as conditions
from falkirk.metadata.losses.condition import (
    AllOf,
    AnyOf,
    Condition,
    Differs,
    Equals,
    EqualsIgnoringCase,
    HasUnderivableDirectory,
    IsOneOf,
    LongerThan,
    RowContext,
)
from falkirk.metadata.losses.loss_catalogue import CATALOGUE, config_rules
from falkirk.pipeline.state.conditions import Columns, KnownCondition, fields_of, holds, lists_within
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS
from falkirk.versions.release import Release

ROWS = 200
BROKERS = range(5)
DIRECTORIES = [bytes(16), bytes(15) + b"\x01", b"d" * 16, b"e" * 16]
INTS = pa.list_(pa.int32())
STRINGS = pa.list_(pa.string())
# Name of a field -> its type, and how to draw a value.
FIELDS = {
    "in_controlled_shutdown": (pa.bool_(), lambda random: random.choice((True, False, None))),
    "is_migrating_zk_broker": (pa.bool_(), lambda random: random.choice((True, False, None))),
    "zk_migration_state": (pa.int8(), lambda random: random.choice((0, 1, 3, None))),
    "resource_type": (pa.int8(), lambda random: random.choice((2, 4, 16, 32, None))),
    "permission_type": (pa.int8(), lambda random: random.choice((2, 3, None))),
    "name": (
        pa.string(),
        lambda random: random.choice(("remote.storage.enable", "streams.assignor.name", "x", "", None)),
    ),
    "value": (pa.string(), lambda random: random.choice(("true", "\u2003TRUE\x1c\n", "tru e", "false", "", None))),
    "host": (pa.string(), lambda random: random.choice(("*", "10.0.0.0/8", "/", ""))),
    "log_dirs": (STRINGS, lambda random: lists(random, "ab", 3)),
    "cordoned_log_dirs": (STRINGS, lambda random: lists(random, "ab", 2)),
    "isr": (INTS, lambda random: lists(random, BROKERS, 3)),
    "eligible_leader_replicas": (INTS, lambda random: lists(random, BROKERS, 2)),
    "last_known_elr": (INTS, lambda random: lists(random, BROKERS, 2)),
}


def lists(random, values, size_max):
    if random.random() < 0.2:
        return None
    return [random.choice(values) for _ in range(random.randint(0, size_max))]


def made_row(random):
    row = {name: draw(random) for name, (_, draw) in FIELDS.items()}
    replicas = random.sample(BROKERS, random.randint(0, 5)) + [9] * random.randint(0, 1)
    directories = random.choice(([random.choice(DIRECTORIES) for _ in replicas], [], None))
    return row | {"replicas": replicas, "directories": directories}


def catalogue_conditions():
    """Every condition of the catalogue that is about an object or tells a writer, and some that no rule has yet."""
    rules = list(CATALOGUE)
    for release in ("3.7", "3.9", "4.0", "4.4"):
        for at in (FLOOR, METADATA_VERSIONS[-1]):
            rules += config_rules(at, Release.parse(release))
    found = [rule.condition for rule in rules]
    found += [each for rule in CATALOGUE for each in rule.writers.values() if "shutdown" not in each.expression]
    found += [each for rule in CATALOGUE for record, each in rule.borne_by.items() if record.startswith("Partition")]
    found += [
        AllOf(()), AnyOf(()), LongerThan("isr", 1), Equals("isr", None), IsOneOf("name", frozenset()),
        EqualsIgnoringCase("value", ""), HasUnderivableDirectory() & Differs("name", "x"),
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def columns_of(rows, single_log_dirs):
    types = {name: type_ for name, (type_, _) in FIELDS.items()} | {"replicas": INTS, "directories": STRINGS}
    return Columns(
        count=len(rows),
        column=lambda name: pa.array([row[name] for row in rows], types[name]),
        single_log_dirs=single_log_dirs,
    )


def test_they_hold_for_the_same_rows():
    random = Random(584)
    wanted = catalogue_conditions()
    hits = 0
    for _ in range(5):
        rows = [made_row(random) for _ in range(ROWS)]
        counts = {broker: random.randint(0, 2) for broker in random.sample(BROKERS, 4)}
        context = RowContext(log_dir_counts=counts)
        as_text = [row | {"directories": texts(row["directories"])} for row in rows]
        columns = columns_of(as_text, {broker: "A" for broker, count in counts.items() if count == 1})
        for condition in wanted:
            expected = [condition.holds(SimpleNamespace(**row), context) for row in rows]
            assert holds(condition, columns).tolist() == expected, condition
            hits += sum(expected)
    assert hits > ROWS


def texts(directories):
    return directories and [uuid_text(each) for each in directories]


def test_uuids_may_be_bytes():
    columns = {
        "replicas": pa.array([[1]] * len(DIRECTORIES), INTS),
        "directories": pa.array([[directory] for directory in DIRECTORIES], pa.list_(pa.binary(16))),
    }
    found = holds(HasUnderivableDirectory(), Columns(count=len(DIRECTORIES), column=columns.__getitem__))
    assert found.tolist() == [directory != bytes(16) for directory in DIRECTORIES]


def test_a_change_without_replicas_is_told_by_its_directories():
    reserved = [uuid_text(each) for each in DIRECTORIES[:2]]
    cases = [
        (["A"], False),
        (["A", *reserved], False),
        (reserved, False),
        (["A", "B"], True),
        ([], False),
        (None, False),
    ]
    rows = [{"replicas": None, "directories": directories} for directories, _ in cases]
    found = holds(HasUnderivableDirectory(), columns_of(rows, {1: "A"}))
    assert found.tolist() == [wanted for _, wanted in cases]


def test_a_damaged_record_with_too_few_replicas_has_a_directory_that_nothing_tells():
    rows = [{"replicas": [1], "directories": ["A", "A"]}, {"replicas": [1, 1], "directories": ["A", "A"]}]
    assert holds(HasUnderivableDirectory(), columns_of(rows, {1: "A"})).tolist() == [True, False]


def test_lists_within_some_values():
    lists = pa.array([[1], [1, 2], [], None, [3]], INTS)
    assert lists_within(lists, [2, 1]).tolist() == [True, True, True, True, False]
    assert lists_within(lists.slice(1), []).tolist() == [False, True, True, False]


def test_every_condition_has_a_column():
    classes = {each for each in vars(conditions).values() if isinstance(each, type) and issubclass(each, Condition)}
    assert set(get_args(KnownCondition)) == classes - {Condition}


@pytest.mark.parametrize("condition", catalogue_conditions(), ids=lambda condition: condition.expression)
def test_the_fields_that_a_condition_looks_at_are_known(condition):
    asked = set(re.findall(r"row\.(\w+)", condition.expression))
    if "has_underivable_directory" in condition.expression:
        asked |= {"replicas", "directories"}
    assert fields_of(condition) == asked
