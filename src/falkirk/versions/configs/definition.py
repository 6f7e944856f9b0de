"""One configuration key: type, default, allowed values, and Kafka's error for any other value.

Source: Kafka's ConfigDef. Class names are not checked: there are no Java classes to load.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.versions.errors import UnknownMetadataVersionError
from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

Value = bool | int | float | str | tuple[str, ...] | None
"""A parsed value; lists are tuples, None is "not set"."""
PATTERN_ERRORS: Final = (re.error, ValueError, OverflowError, RecursionError)
"""What `re.compile` raises for an expression from outside: numbers and depths may be too large for it, too."""
_PARTITION_AND_BROKER: Final = re.compile(r"[0-9]+:[0-9]+")
_DURATION: Final = re.compile(
    r"[+-]?P(?:([+-]?[0-9]+)D)?(?:T(?:([+-]?[0-9]+)H)?(?:([+-]?[0-9]+)M)?(?:([+-]?[0-9]+(?:[.,][0-9]{0,9})?)S)?)?",
    re.IGNORECASE,
)
# 0.8.0 to 3.2-IV0, which the table of metadata versions does not name: 2.8, 2.8-IV1, 0.10.2-IV0.
_OLD_PROTOCOL: Final = re.compile(r"(0\.(8|9|10|11)(\.\d)?|[12]\.\d|3\.[0-2])(-IV\d)?")
_COMMA: Final = re.compile(r"\s*,\s*")
# Zeros may precede; Python itself refuses to read thousands of digits.
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,100}")
# Java's suffixes for floating point numbers, and its words for what is none.
_DOUBLE: Final = re.compile(r"([+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?))[dDfF]?")


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


BOOLEAN: Final = ConfigType.BOOLEAN
CLASS: Final = ConfigType.CLASS
DOUBLE: Final = ConfigType.DOUBLE
INT: Final = ConfigType.INT
LIST: Final = ConfigType.LIST
LONG: Final = ConfigType.LONG
PASSWORD: Final = ConfigType.PASSWORD
SHORT: Final = ConfigType.SHORT
STRING: Final = ConfigType.STRING


class Required(Enum):
    """Stands in the place of a default: the key must be set."""

    REQUIRED = "REQUIRED"


class ConfigError(Exception):
    """A configuration that no node can start with; each line of the text names a key and what is wrong."""


class InvalidValueError(ConfigError):
    """An invalid value, with Kafka's message."""

    def __init__(self, name: str, shown: object, reason: str) -> None:
        super().__init__(f"Invalid value {shown} for configuration {name}: {reason}")


class Validator(Protocol):
    """A check of values beyond their type."""

    def check(self, name: str, value: Value) -> None:
        """Raise ConfigError if the value is refused."""


@dataclass(frozen=True, slots=True)
class Range:
    """A number from `minimum` to `maximum`, both included, or `besides`."""

    minimum: float | None
    maximum: float | None = None
    besides: int | None = None

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValueError for a number outside the range."""
        if value is None or value == self.besides:
            return
        assert isinstance(value, int | float)
        if self.minimum is not None and value < self.minimum:
            raise InvalidValueError(name, value, f"Value must be at least {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise InvalidValueError(name, value, f"Value must be no more than {self.maximum}")


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a fixed set of words."""

    words: tuple[str, ...]
    ignores_case: bool = False

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValueError for any other word."""
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
        """Raise InvalidValueError for a list with any other word."""
        assert isinstance(value, tuple)
        for entry in value:
            OneOf(self.words).check(name, entry)


@dataclass(frozen=True, slots=True)
class DistinctListOf:
    """A list as releases from 4.2 on validate it: no empty entries, and not empty unless `may_be_empty`."""

    words: tuple[str, ...] = ()
    may_be_empty: bool = True

    def check(self, name: str, value: Value) -> None:
        """Raise ConfigError for empty entries and for other words."""
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
        """Raise InvalidValueError for the empty text."""
        if value == "":
            raise InvalidValueError(name, value, "String must be non-empty")


@dataclass(frozen=True, slots=True)
class MetadataVersionName:
    """A metadata version or, of releases before those, an inter-broker protocol version."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValueError for any other text."""
        assert isinstance(value, str)
        if _OLD_PROTOCOL.fullmatch(value):
            return
        try:
            MetadataVersion.parse(value)
        except UnknownMetadataVersionError as error:
            raise InvalidValueError(name, value, f"Version {value} is not a valid version") from error


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """`*` for all replicas, or a list of `partition:broker`."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValueError for anything else."""
        assert isinstance(value, tuple)
        if value != ("*",) and not all(_PARTITION_AND_BROKER.fullmatch(entry) for entry in value):
            shown = f"[{', '.join(value)}]"
            raise InvalidValueError(name, shown, "must be '*' or a list of [partitionId]:[brokerId]")


@dataclass(frozen=True, slots=True)
class ShareOffsetReset:
    """Where a share group starts: `latest`, `earliest`, or `by_duration:` and an ISO 8601 duration (KIP-932)."""

    def check(self, name: str, value: Value) -> None:
        """Raise InvalidValueError for other words, and for durations that are invalid or negative."""
        if value in {"latest", "earliest"}:
            return
        word, _, duration = str(value).partition(":")
        match = _DURATION.fullmatch(duration) if word == "by_duration" else None
        # A P or T with nothing behind it is no duration.
        if match is None or not any(match.groups()) or duration.upper().endswith("T") or "-" in duration:
            reason = (
                f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or "
                "of the format 'by_duration:<PnDTnHnMn.nS>'."
            )
            raise InvalidValueError(name, value, reason)


@dataclass(frozen=True, slots=True)
class Definition:
    """A key's type, default and validator.

    `is_dynamic`: a running broker applies changes. `is_internal`: described only where it is set.
    """

    type: ConfigType
    default: Value | Required
    validator: Validator | None = None
    is_dynamic: bool = False
    is_internal: bool = False

    def parse(self, name: str, text: str, *, keeps_duplicates: bool = False) -> Value:
        """Read a value. Raises ConfigError.

        Releases from 4.2 on drop duplicates of a list in server.properties, but not in other configs.
        """
        value = _parse(name, text, self.type)
        if self.validator is not None:
            self.validator.check(name, value)
        if isinstance(self.validator, DistinctListOf) and isinstance(value, tuple) and not keeps_duplicates:
            return tuple(dict.fromkeys(value))
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
        """Return the default as text; None if there is none."""
        return None if isinstance(self.default, Required) else self.text(self.default)


_BITS: Final = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigChanges:
    """What a release added or changed, by key; None: it removed the key.

    `dynamic_quotas`: dynamic broker configs that are no keys of server.properties.
    """

    release: str
    server: "Mapping[str, Definition | None]" = field(default_factory=dict)
    topic: "Mapping[str, Definition | None]" = field(default_factory=dict)
    group: "Mapping[str, Definition | None]" = field(default_factory=dict)
    client_metrics: "Mapping[str, Definition | None]" = field(default_factory=dict)
    dynamic_quotas: tuple[str, ...] = ()
