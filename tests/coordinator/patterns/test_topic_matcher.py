"""Names of topics against expressions; Python's own engine is the judge where the two mean the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falkirk.coordinator.patterns.topic_matcher import TopicMatcher
from falkirk.coordinator.patterns.topic_pattern import TopicPatternError

ATOMS = st.sampled_from(
    ["a", "b", "_", r"\.", ".", "[ab]", "[^a]", "[a-c1-3]", r"\d", r"\w", r"\W", r"[\d_]", "^", "$", r"\b", r"\B", "()"]
)
TIMES = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}", "*?", "+?"])


def _repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}){}".format, inner, TIMES),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
    )


PATTERNS = st.recursive(ATOMS, _repeated, max_leaves=8)
NAMES = st.text("abcA1._-", min_size=1, max_size=6)


@given(pattern=PATTERNS, names=st.lists(NAMES, max_size=5))
def test_a_whole_name_matches_as_in_python(pattern: str, names: list[str]):
    expected = frozenset(name for name in names if re.fullmatch(pattern, name))

    assert TopicMatcher.compiled(pattern).matching(names) == expected


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("orders-.*", {"orders-eu", "orders-"}),
        ("(?i)ORDERS-eu", {"orders-eu"}),
        ("(?i:O)rders-EU", set[str]()),
        ("(?i)a|ORDERS-(?-i:EU|eu)", {"orders-eu"}),
        (r"[[:lower:]]+", {"payments"}),
        (r"[[:^alpha:]]+", {"1.2"}),
        (r"\p{Lu}\p{Ll}+", {"Audit"}),
        (r"\PL+", {"1.2"}),
        (r"\p{^Lu}+", {"orders-eu", "orders-", "payments", "1.2"}),
        (r"\p{Latin}+", {"payments", "Audit"}),
        (r"\Q1.2\E", {"1.2"}),
        (r"\x41udit|\x{31}\0562", {"Audit", "1.2"}),
        ("payment", set[str]()),
        ("", set[str]()),
        ("tópico|payments", {"payments"}),
    ],
)
def test_what_only_re2_has_is_understood(pattern: str, names: set[str]):
    topics = ["orders-eu", "orders-", "payments", "Audit", "1.2"]

    assert TopicMatcher.compiled(pattern).matching(topics) == names


def test_an_expression_that_explodes_elsewhere_is_answered():
    assert TopicMatcher.compiled("(a*)*(a|a)*b").matching(["a" * 249, "aab"]) == {"aab"}


def test_many_states_are_made_again_rather_than_kept():
    names = [f"{number:011b}".replace("0", "a").replace("1", "b") for number in range(2**11)]

    found = TopicMatcher.compiled("[ab]*a[ab]{7}").matching(names)

    assert found == {name for name in names if name[-8] == "a"}


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "((a?){100}){1000}", "((){1000}){1000}"])
def test_an_expression_without_measure_is_refused(pattern: str):
    with pytest.raises(TopicPatternError, match="expression too large"):
        TopicMatcher.compiled(pattern)


@pytest.mark.slow
def test_a_question_without_measure_is_refused():
    matcher = TopicMatcher.compiled("(a?b?){1000}(a?b?){900}")
    names = [f"{number:0249b}".replace("0", "a").replace("1", "b") for number in range(0, 2**249, 2**249 // 50)]

    with pytest.raises(TopicPatternError, match="expression too large"):
        matcher.matching(names)
