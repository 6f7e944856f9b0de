"""Expressions as RE2J 1.8, which Kafka 4 has, reads or refuses them."""

import pytest

from falkirk.coordinator.patterns.topic_pattern import TopicPatternError, parse_topic_pattern

# What RE2J 1.8 said of each.
GOOD = [
    "(a{100}){11}",
    "(a{10}){100}",
    "[]a]",
    "[^]a]",
    "(?<n>a)",
    "(?P<n>a)",
    "\\_",
    "\\-",
    "\\pL",
    "[[:alpha:]]",
    "[[:^alpha:]]",
    "\\z",
    "\\A",
    "\\x41",
    "\\x{41}",
    "\\07",
    "\\Qa.b\\E",
    "\\Qa.b",
    "a{,3}",
    "a{",
    "a{1",
    "(?i)a",
    "(?i:a)",
    "()",
    "(|a)",
    "a||b",
    "(?i-s:a)",
    "^*",
    "\\b*",
    "a*?",
    "a{1}?",
    "$",
    "\\d\\w\\s\\D\\W\\S",
    "[\\d-z]",
    "[a-]",
    "[-a]",
    "\\a\\f\\n\\r\\t\\v",
    "a{0}",
    "(a*)*",
    "[[:word:]]",
    "(?s).",
    "a*(?i)*",
    "(?m)^a$",
    "(?U)a+",
    "\\p{L}",
    "\\PN",
    "[\\pL]",
    "[\\p{^Lu}]",
    "\\p{^Lu}",
    "[[.a.]]",
    "[a&&b]",
]
BAD = {
    "invalid nested repetition operator": ["a**", "a{2}{3}", "a?*", "a*??", "a{1}??", "a+*"],
    "missing argument to repetition operator": ["*a", "+", "{1}", "a|*"],
    "invalid repeat count": ["a{1001}", "a{2,1}", f"a{{{'9' * 5_000}}}", f"a{{1,{'9' * 5_000}}}"],
    "missing closing ]": ["[a", "[]", "[", "[^"],
    "invalid character class range": ["[z-a]", "\\p{Foo}", "\\pX", "[[:foo:]]", "[a--]"],
    "missing closing )": ["(a"],
    "invalid or unsupported Perl syntax": ["(?=a)", "(?!a)", "(?P=n)", "(?z)a", "(?i", "(?", "(?-)", "(?i-)", "(?#c)"],
    "invalid named capture": ["(?<=a)", "(?P<1-2>a)", "(?P<>a)", "(?P<n"],
    "invalid escape sequence": [
        "\\1",
        "\\q",
        "[\\q]",
        "\\C",
        "\\Z",
        "\\h",
        "\\x4",
        "\\8",
        "[a-\\d]",
        "\\K",
        "\\G",
        "\\u0041",
        "\\e",
        "\\cA",
    ],
    "trailing backslash at end of expression": ["\\"],
    "duplicate capture group name": ["(?P<n>a)(?P<n>b)"],
}


@pytest.mark.parametrize("pattern", GOOD)
def test_what_re2_reads_is_read(pattern: str):
    parse_topic_pattern(pattern)


@pytest.mark.parametrize(("pattern", "message"), [(each, why) for why, patterns in BAD.items() for each in patterns])
def test_what_re2_refuses_is_refused_in_its_words(pattern: str, message: str):
    with pytest.raises(TopicPatternError) as refused:
        parse_topic_pattern(pattern)

    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a)", "unexpected )"),
        (r"\p{Greek}", "invalid character class range"),
        ("(" * 101 + ")" * 101, "expression nests too deeply"),
        ("a" + "*(?i)" * 5_000, "expression nests too deeply"),
    ],
)
def test_where_we_differ_from_re2_it_is_said_so(pattern: str, message: str):
    with pytest.raises(TopicPatternError) as refused:
        parse_topic_pattern(pattern)

    assert str(refused.value) == message
