"""ssl.principal.mapping.rules, with the examples of Kafka's documentation and of KIP-371."""

from __future__ import annotations

import pytest

from falkirk.node.config.principal_mapping import PrincipalMapping
from falkirk.versions.configs.definition import ConfigError

RULES = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/, RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, DEFAULT"
)


@pytest.mark.parametrize(
    ("name", "mapped"),
    [
        ("CN=serviceuser,OU=ServiceUsers,O=Unknown,L=Unknown,ST=Unknown,C=Unknown", "serviceuser"),
        ("CN=adminUser,OU=Admin,O=Unknown,L=Unknown,ST=Unknown,C=Unknown", "adminuser@admin"),
        ("cn=dUkE,OU=JavaSoft", "DUKE"),
        ("OU=JavaSoft,O=Sun", "OU=JavaSoft,O=Sun"),
    ],
)
def test_the_first_rule_that_fits_counts(name: str, mapped: str) -> None:
    assert PrincipalMapping(RULES).name_of(name) == mapped


def test_without_a_rule_that_fits_there_is_no_name() -> None:
    assert PrincipalMapping("RULE:^CN=a$/b/").name_of("CN=c") is None
    assert PrincipalMapping("").name_of("CN=c") is None


@pytest.mark.parametrize(
    ("rule", "mapped"),
    [
        (r"RULE:^CN=(\w+),O=(\w+)$/$2-$1/", "org-me"),
        (r"RULE:^CN=(\w+),O=(\w+)$/$12/", "me2"),
        (r"RULE:^CN=(\w+),O=(\w+)$/$1@$4/", "me@$4"),
        (r"RULE:^CN=(?<who>\w+),O=org$/$1\/x/", "me/x"),
        (r"RULE:CN=(.*),O=org/x\$1$1/U", "X$1ME"),
    ],
)
def test_references_are_those_of_java(rule: str, mapped: str) -> None:
    assert PrincipalMapping(rule).name_of("CN=me,O=org") == mapped


@pytest.mark.parametrize(
    "rules",
    [
        "deFAULT",
        "RULE:a/b",
        "RULE:a/b/L/U",
        "abc",
        "RULE:(/x/",
        "RULE:a/b/, x",
        pytest.param(f"RULE:a{{{1 << 64}}}/b/", id="count"),
        pytest.param(f"RULE:a{{{'9' * 5_000}}}/b/", id="digits"),
        pytest.param(f"RULE:{'(' * 5_000}{')' * 5_000}/b/", id="depth"),
    ],
)
def test_what_is_no_rule_is_refused(rules: str) -> None:
    with pytest.raises(ConfigError):
        PrincipalMapping(rules)
