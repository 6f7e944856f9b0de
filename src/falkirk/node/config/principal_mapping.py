"""ssl.principal.mapping.rules: from a certificate's distinguished name to the name of a principal (KIP-371)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from falkirk.versions.configs.definition import PATTERN_ERRORS, ConfigError

DEFAULT_MAPPING: Final[str] = "DEFAULT"
_RULE: Final = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLITTER: Final = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSER: Final = re.compile(_RULE)
# A group of the pattern, or an escaped character.
_REFERENCE: Final = re.compile(r"\$([0-9]+)|\\(.)", re.DOTALL)
# Java's syntax of named groups.
_NAMED_GROUP: Final = re.compile(r"\(\?<(?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class _Rule:
    """`pattern` None: the name stays as it is."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    letters: str = ""  # L, U or nothing

    def apply(self, name: str) -> str | None:
        """Return the mapped name; None if the rule does not match."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        mapped = self.pattern.sub(self._replaced, name)
        if self.letters == "L":
            return mapped.lower()
        return mapped.upper() if self.letters == "U" else mapped

    def _replaced(self, match: re.Match[str]) -> str:
        return _REFERENCE.sub(lambda reference: _referred(match, reference), self.replacement)


class PrincipalMapping:
    """The rules of a listener, in order. Raises ConfigError."""

    def __init__(self, text: str) -> None:
        self._rules = tuple(_rules(text.strip()))

    def name_of(self, distinguished_name: str) -> str | None:
        """Return the principal's name; None if no rule applies, which refuses the client."""
        mapped = (rule.apply(distinguished_name) for rule in self._rules)
        return next((name for name in mapped if name is not None), None)


def _rules(text: str) -> list[_Rule]:
    rules = []
    for split in _SPLITTER.finditer(text):
        match = _PARSER.match(split[1])
        if match is None or match.end() != len(split[1]):
            rest = split[1][match.end() :] if match else split[1]
            raise ConfigError(f"Invalid rule: `{split[1]}`, unmatched substring: `{rest}`")
        if match[1] is not None:
            rules.append(_Rule())
        elif match[2] is not None:
            rules.append(_Rule(_compiled(match[2]), match[3], match[4]))
    return rules


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(_NAMED_GROUP.sub("(?P<", pattern))
    except PATTERN_ERRORS as error:
        raise ConfigError(f"ssl.principal.mapping.rules: the pattern {pattern} cannot be read: {error}") from error


def _referred(match: re.Match[str], reference: re.Match[str]) -> str:
    """Return the text of a reference; as in Java `$12` is group 1 and a 2 where there are fewer than 12 groups."""
    if reference[2] is not None:
        return reference[2]
    digits = reference[1]
    groups = match.re.groups
    number, used = int(digits[0]), 1
    if number > groups:
        return reference[0]
    while used < len(digits) and number * 10 + int(digits[used]) <= groups:
        number, used = number * 10 + int(digits[used]), used + 1
    return (match[number] or "") + digits[used:]
