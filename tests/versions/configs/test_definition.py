"""Definitions of configs: what they take, what they write."""

import pytest

from falkirk.versions.configs.definition import (
    ConfigError,
    ConfigType,
    Definition,
    DistinctListOf,
    ListOf,
    OneOf,
    Range,
    Required,
    ShareOffsetReset,
)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.INT, "+5", 5),
        (ConfigType.INT, "-2147483648", -2147483648),
        (ConfigType.LONG, "9223372036854775807", 9223372036854775807),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.DOUBLE, "1e-1", 0.1),
        (ConfigType.DOUBLE, ".5d", 0.5),
        (ConfigType.LIST, " a , b ,", ("a", "b", "")),
        (ConfigType.LIST, " ", ()),
        (ConfigType.STRING, " a ", "a"),
    ],
)
def test_values_are_read_as_java_reads_them(kind, text, value):
    assert Definition(kind, None).parse("name", text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "5.0"),
        (ConfigType.INT, ""),
        (ConfigType.SHORT, "32768"),
        (ConfigType.LONG, "-9223372036854775809"),
        (ConfigType.DOUBLE, "half"),
    ],
)
def test_what_is_of_another_type_is_refused_by_name(kind, text):
    with pytest.raises(ConfigError, match=r"configuration some\.name"):
        Definition(kind, None).parse("some.name", text)


@pytest.mark.parametrize(
    ("validator", "kind", "taken", "refused"),
    [
        (Range(1, 3), ConfigType.INT, ["1", "3"], ["0", "4"]),
        (Range(1, 3, besides=-1), ConfigType.INT, ["-1", "1"], ["0", "-2"]),
        (Range(None, 3), ConfigType.INT, ["-9", "3"], ["4"]),
        (OneOf(("a", "b")), ConfigType.STRING, ["a"], ["A", ""]),
        (OneOf(("A",), ignores_case=True), ConfigType.STRING, ["a", "A"], ["b"]),
        (ListOf(("a", "b")), ConfigType.LIST, ["", "a", "b,a,a"], ["c", "a,"]),
        (DistinctListOf(("a", "b")), ConfigType.LIST, ["", "a,b"], ["a,", "c"]),
        (DistinctListOf(may_be_empty=False), ConfigType.LIST, ["x"], ["", "x,"]),
    ],
)
def test_values_are_checked(validator, kind, taken, refused):
    definition = Definition(kind, None, validator)
    for text in taken:
        definition.parse("name", text)
    for text in refused:
        with pytest.raises(ConfigError):
            definition.parse("name", text)


def test_where_a_share_group_starts_is_refused_in_the_words_of_kafka_431():
    definition = Definition(ConfigType.STRING, "latest", ShareOffsetReset())
    definition.parse("share.auto.offset.reset", "by_duration:PT1H")
    with pytest.raises(ConfigError) as refusal:
        definition.parse("share.auto.offset.reset", "x")
    assert str(refusal.value) == (
        "Invalid value x for configuration share.auto.offset.reset: Invalid value `x` for configuration "
        "share.auto.offset.reset. The value must be either 'earliest', 'latest' or of the format "
        "'by_duration:<PnDTnHnMn.nS>'."
    )


@pytest.mark.parametrize("text", ["true", "-5", "0.25", "a,b", "", "word"])
def test_what_is_read_is_written_as_it_was(text):
    kinds = {"true": ConfigType.BOOLEAN, "-5": ConfigType.LONG, "0.25": ConfigType.DOUBLE, "word": ConfigType.STRING}
    definition = Definition(kinds.get(text, ConfigType.LIST), None)
    assert definition.text(definition.parse("name", text)) == text


def test_a_default_is_written_where_there_is_one():
    assert Definition(ConfigType.INT, 5).default_text == "5"
    assert Definition(ConfigType.INT, None).default_text is None
    assert Definition(ConfigType.INT, Required.REQUIRED).default_text is None
