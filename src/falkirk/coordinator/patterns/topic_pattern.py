r"""Regular expressions of subscriptions: RE2's syntax, parsed into a tree for the matcher.

Names are matched, of topics (65 characters) or of another alphabet: a class of characters is a set of these.

Differs from Kafka (RE2J 1.8): `\p{...}` accepts general categories and the scripts Latin and Common, other scripts are
refused; groups nest up to 100 deep; an expression whose repetitions unfold to more than 40 000 steps is refused.
Messages of errors are RE2J's.
Source: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import re
import string
import unicodedata
from dataclasses import dataclass
from typing import Final, Literal

TOPIC_CHARACTERS: Final = frozenset(string.ascii_letters + string.digits + "._-")


_DIGITS: Final = frozenset(string.digits)
_WORD: Final = frozenset(string.ascii_letters + string.digits + "_")
_ASCII: Final = frozenset(map(chr, range(128)))
_CONTROLS: Final = frozenset(each for each in _ASCII if not each.isprintable())
_PERL_CLASSES: Final = {"d": _DIGITS, "w": _WORD, "s": frozenset("\t\n\f\r ")}
_POSIX_CLASSES: Final = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "ascii": _ASCII,
    "blank": frozenset("\t "),
    "cntrl": _CONTROLS,
    "digit": _DIGITS,
    "graph": _ASCII - _CONTROLS - {" "},
    "lower": frozenset(string.ascii_lowercase),
    "print": _ASCII - _CONTROLS,
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "word": _WORD,
    "xdigit": frozenset(string.hexdigits),
}
_CONTROL_ESCAPES: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CATEGORIES: Final = re.compile("C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?")
_SCRIPTS: Final = {
    "Latin": frozenset(string.ascii_letters),
    "Common": _ASCII.difference(string.ascii_letters),
    "Any": _ASCII,
}
_FLAGS: Final = frozenset("imsU")
_REPEAT_MAX: Final = 1_000
# As in RE2J. Python refuses to read thousands.
_DIGITS_MAX: Final = 8
_DEPTH_MAX: Final = 100
_BAD_COUNT: Final = "invalid repeat count"
_BAD_ESCAPE: Final = "invalid escape sequence"
_BAD_RANGE: Final = "invalid character class range"
_BAD_GROUP: Final = "invalid or unsupported Perl syntax"
_BAD_NAME: Final = "invalid named capture"
_MISSING_BRACKET: Final = "missing closing ]"


class TopicPatternError(Exception):
    """An expression that is not RE2's; the message gives the reason, without the expression."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    of: frozenset[str]


@dataclass(frozen=True, slots=True)
class Assertion:
    """`^` and `$`: the ends of the name; `b`: a word boundary; `B`: no word boundary."""

    kind: Literal["^", "$", "b", "B"]


@dataclass(frozen=True, slots=True)
class Sequence:
    """Nodes in succession; none: the empty string."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives."""

    nodes: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repetition:
    """A node `least` to `most` times; None: unlimited."""

    node: Node
    least: int
    most: int | None


Node = Characters | Assertion | Sequence | Choice | Repetition


def parse_topic_pattern(pattern: str, alphabet: frozenset[str] = TOPIC_CHARACTERS) -> Node:
    """Parse an expression for names of these characters. Raises TopicPatternError."""
    return _Parser(pattern, alphabet).parse()


class _Parser:
    """A recursive descent parser; `_at` is its position in the text."""

    def __init__(self, text: str, alphabet: frozenset[str]) -> None:
        self._text = text
        self._any = alphabet
        self._at = 0
        self._depth = 0
        self._ignores_case = False
        self._names: set[str] = set()

    def parse(self) -> Node:
        node = self._choice()
        if self._at < len(self._text):
            raise TopicPatternError("unexpected )")
        return node

    def _choice(self) -> Node:
        nodes = [self._sequence()]
        while self._accept("|"):
            nodes.append(self._sequence())
        return nodes[0] if len(nodes) == 1 else Choice(tuple(nodes))

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        is_repeated = False
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            times = self._times()
            if times is None:
                node = self._atom()
                # What a group of flags alone leaves has nothing in it to be repeated.
                if node is not None:
                    nodes.append(node)
                is_repeated = False
                continue
            if not nodes:
                raise TopicPatternError("missing argument to repetition operator")
            if is_repeated:
                raise TopicPatternError("invalid nested repetition operator")
            self._accept("?")
            is_repeated = True
            # Flags between two operators let the second repeat what the first does.
            if isinstance(nodes[-1], Repetition):
                self._nest()
            nodes[-1] = Repetition(nodes[-1], *times)
        return nodes[0] if len(nodes) == 1 else Sequence(tuple(nodes))

    def _times(self) -> tuple[int, int | None] | None:
        """Parse `*`, `+`, `?` or `{...}`, if present; braces without a count are characters."""
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        character = self._text[self._at]
        if character in simple:
            self._at += 1
            return simple[character]
        if character != "{":
            return None
        end = self._text.find("}", self._at)
        least, comma, most = self._text[self._at + 1 : max(end, self._at)].partition(",")
        if not _is_number(least) or (most and not _is_number(most)):
            return None
        self._at = end + 1
        if max(len(least), len(most)) > _DIGITS_MAX:
            raise TopicPatternError(_BAD_COUNT)
        counts = (int(least), int(most) if most else None if comma else int(least))
        if counts[0] > _REPEAT_MAX or (counts[1] is not None and not counts[0] <= counts[1] <= _REPEAT_MAX):
            raise TopicPatternError(_BAD_COUNT)
        return counts

    def _atom(self) -> Node | None:
        character = self._text[self._at]
        match character:
            case "(":
                return self._group()
            case "[":
                return Characters(self._cased(self._class()))
            case "\\":
                return self._escape()
            case "^" | "$":
                self._at += 1
                return Assertion(character)
            case ".":
                self._at += 1
                return Characters(self._any)
            case _:
                self._at += 1
                return self._literal(character)

    def _group(self) -> Node | None:
        self._at += 1
        ignored_case = self._ignores_case
        if self._accept("?") and not self._is_group_after_flags():
            return None
        self._nest()
        node = self._choice()
        if not self._accept(")"):
            raise TopicPatternError("missing closing )")
        self._depth -= 1
        self._ignores_case = ignored_case
        return node

    def _nest(self) -> None:
        self._depth += 1
        if self._depth > _DEPTH_MAX:
            raise TopicPatternError("expression nests too deeply")

    def _is_group_after_flags(self) -> bool:
        """Parse what follows `(?`: a name or flags. False: flags for the rest of the enclosing group."""
        text = self._text
        for opening in ("P<", "<"):
            if text.startswith(opening, self._at):
                self._name(self._at + len(opening))
                return True
        is_on, is_any = True, False
        ignores_case = self._ignores_case
        while self._at < len(text):
            flag = text[self._at]
            self._at += 1
            if flag in _FLAGS:
                is_any = True
                if flag == "i":
                    ignores_case = is_on
            elif flag == "-" and is_on:
                is_on, is_any = False, False
            elif flag in ":)" and (is_on or is_any):
                self._ignores_case = ignores_case
                return flag == ":"
            else:
                break
        raise TopicPatternError(_BAD_GROUP)

    def _name(self, start: int) -> None:
        end = self._text.find(">", start)
        name = self._text[start : max(end, start)]
        if not name or not _WORD.issuperset(name):
            raise TopicPatternError(_BAD_NAME)
        if name in self._names:
            raise TopicPatternError("duplicate capture group name")
        self._names.add(name)
        self._at = end + 1

    def _escape(self) -> Node:
        text = self._text
        if text.startswith("\\Q", self._at):
            end = text.find("\\E", self._at)
            quoted = text[self._at + 2 : end if end >= 0 else len(text)]
            self._at = end + 2 if end >= 0 else len(text)
            return Sequence(tuple(self._literal(character) for character in quoted))
        anchors: dict[str, Literal["^", "$", "b", "B"]] = {"A": "^", "z": "$", "b": "b", "B": "B"}
        kind = anchors.get(text[self._at + 1 : self._at + 2])
        if kind is not None:
            self._at += 2
            return Assertion(kind)
        characters = self._escaped_class()
        if characters is not None:
            return Characters(self._cased(characters))
        return self._literal(self._escaped_character())

    def _escaped_class(self) -> frozenset[str] | None:
        r"""Parse `\d`, `\pL`, `\p{Lu}` and similar, if present."""
        letter = self._text[self._at + 1 : self._at + 2]
        perl = _PERL_CLASSES.get(letter.lower()) if letter else None
        if perl is not None:
            self._at += 2
            return perl & self._any if letter.islower() else self._any - perl
        if letter not in {"p", "P"}:
            return None
        name = self._text[self._at + 2 : self._at + 3]
        self._at += 3
        if name == "{":
            end = self._text.find("}", self._at)
            name = self._text[self._at : max(end, self._at)]
            self._at = end + 1
        is_negated = (letter == "P") != name.startswith("^")
        found = self._unicode_class(name.removeprefix("^"))
        return self._any - found if is_negated else found

    def _unicode_class(self, name: str) -> frozenset[str]:
        if _CATEGORIES.fullmatch(name):
            return frozenset(each for each in self._any if unicodedata.category(each).startswith(name))
        found = _SCRIPTS.get(name)
        if found is None:
            raise TopicPatternError(_BAD_RANGE)
        return found & self._any

    def _escaped_character(self) -> str:
        text = self._text
        if self._at + 1 >= len(text):
            raise TopicPatternError("trailing backslash at end of expression")
        character = text[self._at + 1]
        self._at += 2
        if character in _CONTROL_ESCAPES:
            return _CONTROL_ESCAPES[character]
        if character == "x":
            return self._hexadecimal()
        if character in string.octdigits and (character == "0" or text[self._at : self._at + 1] in set("01234567")):
            digits = character
            while len(digits) <= 2 and text[self._at : self._at + 1] in set("01234567"):
                digits += text[self._at]
                self._at += 1
            return chr(int(digits, 8))
        if character == "_" or (character.isascii() and character not in _WORD):
            return character
        raise TopicPatternError(_BAD_ESCAPE)

    def _hexadecimal(self) -> str:
        text = self._text
        if text[self._at : self._at + 1] == "{":
            end = text.find("}", self._at)
            digits, after = text[self._at + 1 : max(end, self._at)], end + 1
        else:
            digits, after = text[self._at : self._at + 2], self._at + 2
            if len(digits) < 2:
                raise TopicPatternError(_BAD_ESCAPE)
        if not digits or not set(string.hexdigits).issuperset(digits) or int(digits, 16) > 0x10FFFF:
            raise TopicPatternError(_BAD_ESCAPE)
        self._at = after
        return chr(int(digits, 16))

    def _class(self) -> frozenset[str]:
        text = self._text
        self._at += 1
        is_negated = self._accept("^")
        found: set[str] = set()
        is_first = True
        while True:
            if self._at >= len(text):
                raise TopicPatternError(_MISSING_BRACKET)
            if text[self._at] == "]" and not is_first:
                self._at += 1
                return self._any - self._cased(frozenset(found)) if is_negated else frozenset(found)
            is_first = False
            found |= self._class_part()

    def _class_part(self) -> frozenset[str]:
        text = self._text
        if text.startswith("[:", self._at):
            end = text.find(":]", self._at)
            if end >= 0:
                name = text[self._at + 2 : end]
                self._at = end + 2
                posix = _POSIX_CLASSES.get(name.removeprefix("^"))
                if posix is None:
                    raise TopicPatternError(_BAD_RANGE)
                return self._any - posix if name.startswith("^") else posix & self._any
        if text[self._at] == "\\":
            escaped = self._escaped_class()
            if escaped is not None:
                return escaped
        low = high = self._class_character()
        if text[self._at : self._at + 1] == "-" and text[self._at + 1 : self._at + 2] not in {"]", ""}:
            self._at += 1
            high = self._class_character()
            if high < low:
                raise TopicPatternError(_BAD_RANGE)
        return frozenset(each for each in self._any if low <= each <= high)

    def _class_character(self) -> str:
        if self._text[self._at] == "\\":
            return self._escaped_character()
        self._at += 1
        return self._text[self._at - 1]

    def _literal(self, character: str) -> Characters:
        return Characters(self._cased(self._any.intersection(character)))

    def _cased(self, characters: frozenset[str]) -> frozenset[str]:
        if not self._ignores_case:
            return characters
        return characters.union(*({each.lower(), each.upper()} for each in characters)) & self._any

    def _accept(self, character: str) -> bool:
        is_here = self._text.startswith(character, self._at)
        self._at += is_here
        return is_here


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
