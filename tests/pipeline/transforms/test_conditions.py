"""Conditions as columns hold for exactly the rows for which they hold as functions."""

from random import Random
from types import SimpleNamespace
from typing import get_args

import pytest

from falkirk.metadata.losses import condition as conditions
from falkirk.metadata.losses.condition import (
    AllOf,
    Always,
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
from falkirk.pipeline.transforms.conditions import KnownCondition, RowColumns, condition_column, needs_brokers
from falkirk.protocol.uuid import uuid_text
from falkirk.versions.metadata_version import FLOOR, METADATA_VERSIONS
from falkirk.versions.release import Release

ROWS = 200
BROKERS = range(5)
DIRECTORIES = [bytes(16), bytes(15) + b"\x01", b"d" * 16, b"e" * 16]
INTS = "array<int>"
ABOUT_REPLICAS = (
    f"replicas {INTS}, directories array<string>, single_log_dir_brokers {INTS}, single_log_dirs array<string>"
)
# Name of a field -> its type, and how to draw a value.
FIELDS = {
    "in_controlled_shutdown": ("boolean", lambda random: random.choice((True, False, None))),
    "is_migrating_zk_broker": ("boolean", lambda random: random.choice((True, False, None))),
    "zk_migration_state": ("tinyint", lambda random: random.choice((0, 1, 3, None))),
    "resource_type": ("tinyint", lambda random: random.choice((2, 4, 16, 32, None))),
    "permission_type": ("tinyint", lambda random: random.choice((2, 3, None))),
    "name": ("string", lambda random: random.choice(("remote.storage.enable", "streams.assignor.name", "x", "", None))),
    "value": ("string", lambda random: random.choice(("true", "\u2003TRUE\x1c\n", "tru e", "false", "", None))),
    "host": ("string", lambda random: random.choice(("*", "10.0.0.0/8", "/", ""))),
    "log_dirs": ("array<string>", lambda random: lists(random, "ab", 3)),
    "cordoned_log_dirs": ("array<string>", lambda random: lists(random, "ab", 2)),
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


@pytest.mark.slow
def test_they_hold_for_the_same_rows(spark):
    random = Random(584)
    rows = [made_row(random) for _ in range(ROWS)]
    contexts = [{broker: random.randint(0, 2) for broker in random.sample(BROKERS, 4)} for _ in rows]
    wanted = catalogue_conditions()
    names = [*FIELDS, "replicas", "directories"]
    schema = ", ".join(f"`{name}` {type_}" for name, (type_, _) in FIELDS.items())
    schema += f", {ABOUT_REPLICAS}"
    frame = spark.createDataFrame(
        [spark_row(row, counts, names) for row, counts in zip(rows, contexts, strict=True)], schema
    )
    found = frame.select(*(condition_column(each, RowColumns()).alias(str(at)) for at, each in enumerate(wanted)))
    hits = 0
    for row, counts, held in zip(rows, contexts, found.collect(), strict=True):
        context = RowContext(log_dir_counts=counts)
        expected = [each.holds(SimpleNamespace(**row), context) for each in wanted]
        assert list(held) == expected, (row, counts)
        hits += sum(expected)
    assert hits > ROWS


def spark_row(row, counts, names):
    row = row | {"directories": row["directories"] and [uuid_text(each) for each in row["directories"]]}
    single = [broker for broker, count in counts.items() if count == 1]
    # Where no broker has a single log dir, the join gives nothing.
    return (*(row[name] for name in names), single or None, [])


@pytest.mark.slow
def test_a_change_without_replicas_is_told_by_its_directories(spark):
    reserved = [uuid_text(each) for each in DIRECTORIES[:2]]
    cases = [
        (["A"], False),
        (["A", *reserved], False),
        (reserved, False),
        (["A", "B"], True),
        ([], False),
        (None, False),
    ]
    frame = spark.createDataFrame([(None, directories, [1], ["A"]) for directories, _ in cases], ABOUT_REPLICAS)
    found = frame.select(condition_column(HasUnderivableDirectory(), RowColumns())).collect()
    assert [held for (held,) in found] == [wanted for _, wanted in cases]


def test_every_condition_has_a_column():
    classes = {each for each in vars(conditions).values() if isinstance(each, type) and issubclass(each, Condition)}
    assert set(get_args(KnownCondition)) == classes - {Condition}


@pytest.mark.parametrize(
    ("condition", "asks"),
    [
        (Always(), False),
        (HasUnderivableDirectory(), True),
        (Always() & (Equals("a", 1) | HasUnderivableDirectory()), True),
        (Always() & Equals("a", 1), False),
    ],
)
def test_a_condition_that_needs_brokers_is_known(condition, asks):
    assert needs_brokers(condition) is asks
