"""The text of sasl.jaas.config: `<login module> <control flag> <option>=<value> ...;`.

Read as Kafka's JaasConfig does, that is by the rules of Java's StreamTokenizer: comments of three kinds, quotes of two,
escapes of C inside of them, and numbers that are no words. Texts of errors are Kafka's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from falkirk.protocol.sasl.errors import JaasConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PLAIN_LOGIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
# What follows from Java's default of org.apache.kafka.disallowed.login.modules.
_DISALLOWED: Final = ("com.sun.security.auth.module.JndiLoginModule", "com.sun.security.auth.module.LdapLoginModule")
_FLAGS: Final = frozenset({"REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL"})
_SKIPPED: Final = re.compile(r"(?:[\x00-\x20]+|/\*.*?(?:\*/|\Z)|/[^\r\n]*)+", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z_$\x80-\U0010ffff][A-Za-z0-9_$.\x80-\U0010ffff-]*")
_NUMBER: Final = re.compile(r"-?[0-9.]+")
_QUOTED: Final = re.compile(r"""(["'])((?:\\[^\r\n]|(?!\1)[^\\\r\n])*)(?:\1|(?=[\r\n])|\Z)""")
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class LoginModule:
    """The one entry of a configuration."""

    name: str
    options: "Mapping[str, str]"


def parse_jaas_config(text: str) -> LoginModule:
    """Read a configuration of exactly one login module. Raises JaasConfigError."""
    entries = list(_entries(_Tokens(text)))
    if not entries:
        raise JaasConfigError("Login module not specified in JAAS config")
    if len(entries) != 1:
        raise JaasConfigError(f"JAAS config property contains {len(entries)} login modules, should be 1 module")
    if entries[0].name in _DISALLOWED:
        raise JaasConfigError(f"{entries[0].name} is not allowed.")
    return entries[0]


class _Tokens:
    """`word` is the text of a word or of what was in quotes, None for anything else; `kind` a character, "" the end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self.kind = ""
        self.word: str | None = None

    def move(self) -> str:
        """Go to the next token and give its kind."""
        skipped = _SKIPPED.match(self._text, self._position)
        start = skipped.end() if skipped else self._position
        self.word, self.kind, end = None, self._text[start : start + 1], start + 1
        if word := _WORD.match(self._text, start):
            self.kind, self.word, end = "w", word[0], word.end()
        elif number := _NUMBER.match(self._text, start):
            self.kind, end = "0", number.end()
        elif quoted := _QUOTED.match(self._text, start):
            self.word, end = _ESCAPE.sub(_unescaped, quoted[2]), quoted.end()
        self._position = end
        return self.kind


def _unescaped(match: re.Match[str]) -> str:
    escaped = match[1]
    return chr(int(escaped, 8)) if escaped[0] in "01234567" else _ESCAPES.get(escaped, escaped)


def _entries(tokens: _Tokens) -> Iterator[LoginModule]:
    while tokens.move():
        name = tokens.word or ""
        if not tokens.move():
            raise JaasConfigError("Login module control flag not specified in JAAS config")
        if tokens.word is None:
            raise JaasConfigError("Login module control flag is not available in the JAAS config")
        if tokens.word.upper() not in _FLAGS:
            raise JaasConfigError("Invalid login module control flag in JAAS config")
        options: dict[str, str] = {}
        while tokens.move() not in {"", ";"}:
            key = tokens.word
            if tokens.move() != "=" or not tokens.move() or tokens.word is None:
                raise JaasConfigError(f"Value not specified for key '{key or 'null'}' in JAAS config")
            options[key or ""] = tokens.word
        if tokens.kind != ";":
            raise JaasConfigError("JAAS config entry not terminated by semi-colon")
        yield LoginModule(name, options)
