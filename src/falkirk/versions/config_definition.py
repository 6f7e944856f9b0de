"""One configuration key: its type, its default, what values it takes; and what Kafka says of a value that it refuses.

Source: Kafka's ConfigDef. Values of class names are taken as they are: there are no Java classes to look for.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.metadata_version import MetadataVersion

Value = bool | int | float | str | tuple[str, ...] | None
"""A parsed value; lists are tuples, None is what stands for "not set"."""


class ConfigType(Enum):
    """Types of values, by Kafka's names."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    SHORT = "SHORT"
    INT = "INT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"  # noqa: S105 - the name of a type


class Required(Enum):
    """In the place of a default: there is none."""

    REQUIRED = "REQUIRED"


class ConfigError(Exception):
    """A configuration that no node can start with; each line of the text names a key and what is wrong."""


class InvalidValueError(ConfigError):
    """A value that its key does not take, in Kafka's words."""

    def __init__(self, name: str, shown: object, reason: str) -> None:
        super().__init__(f"Invalid value {shown} for configuration {name}: {reason}")


class Validator(Protocol):
    """What values a key takes beyond its type."""

    def check(self, name: str, value: Value) -> None:
        """Raise ConfigError if the value is refused."""


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `minimum` to `maximum`, both included; `besides` is taken as well."""

    minimum: float | None
    maximum: float | None = None
    besides: int | None = None

    def check(self, name: str, value: Value) -> None:
        """Refuse what is outside."""
        if value is None or value == self.besides:
            return
        assert isinstance(value, int | float)
        if self.minimum is not None and value < self.minimum:
            raise InvalidValueError(name, value, f"Value must be at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise InvalidValueError(name, value, f"Value must be no more than {self.maximum}")


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few words."""

    words: tuple[str, ...]
    ignores_case: bool = False

    def check(self, name: str, value: Value) -> None:
        """Refuse any other word."""
        if self.ignores_case:
            if value is None or str(value).upper() not in self.words:
                words = ", ".join(self.words)
                raise InvalidValueError(name, value, f"String must be one of (case insensitive): {words}")
        elif value not in self.words:
            raise InvalidValueError(name, value, f"String must be one of: {', '.join(self.words)}")


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose entries are among `words`, where there are any."""

    words: tuple[str, ...]

    def check(self, name: str, value: Value) -> None:
        """Refuse a list with any other word."""
        assert isinstance(value, tuple)
        for entry in value:
            OneOf(self.words).check(name, entry)


@dataclass(frozen=True, slots=True)
class DistinctListOf:
    """A list as releases from 4.2 on check it: no empty entries, and perhaps not empty itself."""

    words: tuple[str, ...] = ()
    may_be_empty: bool = True

    def check(self, name: str, value: Value) -> None:
        """Refuse empty entries and other words."""
        if value is None:
            return
        assert isinstance(value, tuple)
        if not value and not self.may_be_empty:
            valid = f"[{', '.join(self.words)}]" if self.words else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {valid}")
        if "" in value:
            raise ConfigError(f"Configuration '{name}' values must not be empty.")
        if self.words:
            ListOf(self.words).check(name, value)


@dataclass(frozen=True, slots=True)
class NonEmpty:
    """A text that is not empty."""

    def check(self, name: str, value: Value) -> None:
        """Refuse the empty text."""
        if value == "":
            raise InvalidValueError(name, value, "String must be non-empty")


@dataclass(frozen=True, slots=True)
class MetadataVersionName:
    """A metadata version or, of releases before those, an inter-broker protocol version."""

    def check(self, name: str, value: Value) -> None:
        """Refuse what names none."""
        assert isinstance(value, str)
        if _OLD_PROTOCOL.fullmatch(value):
            return
        try:
            MetadataVersion.parse(value)
        except UnknownMetadataVersionError as error:
            raise InvalidValueError(name, value, f"Version {value} is not a valid version") from error


@dataclass(frozen=True, slots=True)
class Definition:
    """A key's type, default and check."""

    type: ConfigType
    default: Value | Required
    validator: Validator | None = None

    def parse(self, name: str, text: str) -> Value:
        """Read a value. Raises ConfigError."""
        value = _parse(name, text, self.type)
        if isinstance(self.validator, DistinctListOf) and isinstance(value, tuple):
            self.validator.check(name, value)
            return tuple(dict.fromkeys(value))
        if self.validator is not None:
            self.validator.check(name, value)
        return value

    def text(self, value: Value) -> str | None:
        """Write a value as ConfigDef does; the inverse of `parse` but for spaces."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return "true" if value else "false"
        return ",".join(value) if isinstance(value, tuple) else str(value)

    @property
    def default_text(self) -> str | None:
        """Give the default as text; None if there is none."""
        return None if isinstance(self.default, Required) else self.text(self.default)


# 0.8.0 to 3.2-IV0, which the table of metadata versions does not name: 2.8, 2.8-IV1, 0.10.2-IV0.
_OLD_PROTOCOL: Final = re.compile(r"(0\.(8|9|10|11)(\.\d)?|[12]\.\d|3\.[0-2])(-IV\d)?")
_COMMA: Final = re.compile(r"\s*,\s*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
# Java's suffixes for floating point numbers, and its words for what is none.
_DOUBLE: Final = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[dDfF]?")


def _parse(name: str, text: str, kind: ConfigType) -> Value:
    trimmed = text.strip()
    match kind:
        case ConfigType.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise InvalidValueError(name, text, "Expected value to be either true or false")
            return trimmed.lower() == "true"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            limit = 1 << (_BITS[kind] - 1)
            if not _INTEGER.fullmatch(trimmed) or not -limit <= int(trimmed) < limit:
                raise InvalidValueError(name, text, f"Not a number of type {kind.value}")
            return int(trimmed)
        case ConfigType.DOUBLE:
            number = _DOUBLE.fullmatch(trimmed)
            if number is None:
                raise InvalidValueError(name, text, f"Not a number of type {kind.value}")
            value = float(number[1])
            # Comparisons of a range are all false for it, in Java too; no key has a use for it.
            if math.isnan(value):
                raise InvalidValueError(name, text, f"Not a number of type {kind.value}")
            return value
        case ConfigType.LIST:
            return tuple(_COMMA.split(trimmed)) if trimmed else ()
        case _:
            return trimmed
