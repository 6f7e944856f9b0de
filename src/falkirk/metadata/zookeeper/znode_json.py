"""JSON of znodes, read strictly: a malformed value raises ZnodeError that names the key and the object.

Unknown keys are ignored, as in Kafka. A duplicate key is refused everywhere, since it is ambiguous.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from falkirk.metadata.zookeeper.errors import ZnodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

INT16_MAX: Final = 0x7FFF
INT32_MAX: Final = 0x7FFF_FFFF
INT64_MAX: Final = 0x7FFF_FFFF_FFFF_FFFF
TEXT_BYTES_MAX: Final = INT16_MAX
"""Bound of a STRING in Kafka's protocol."""

_SHOWN_MAX = 60
_PLAIN_NAME = re.compile(r"[A-Za-z0-9._-]{1,60}")
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")


class ZnodeObject:
    """A JSON object of a znode. Each getter raises ZnodeError if the object has no such member."""

    def __init__(self, path: str, about: str, members: dict[str, object]) -> None:
        self._path = path
        self._about = about  # which object it is: "" for the whole, "feature group_coordinator" for a part
        self._members = members

    def __contains__(self, key: str) -> bool:
        """Return whether the object has the key. A null counts as absent, as in Kafka."""
        return self._members.get(key) is not None

    def fault(self, text: str) -> ZnodeError:
        """Return the error that says what is wrong with this object."""
        return ZnodeError(self._path, f"{self._about}: {text}" if self._about else text)

    def number(self, key: str, lowest: int, highest: int) -> int:
        """Return an integer between the bounds, which are inclusive."""
        value = self._value(key)
        if type(value) is not int or not lowest <= value <= highest:
            raise self.fault(f"{key} is {shown(value)}, not a whole number from {lowest} to {highest}")
        return value

    def number_in_text(self, key: str) -> int:
        """Return a 64-bit integer that is written as text."""
        value = self._value(key)
        if not isinstance(value, str) or not _WHOLE_NUMBER.fullmatch(value) or abs(int(value)) > INT64_MAX:
            raise self.fault(f"{key} is {shown(value)}, not a whole number as text")
        return int(value)

    def text(self, key: str) -> str:
        """Return a text; it may be empty."""
        return self._text(key, self._value(key))

    def texts(self, key: str) -> list[str]:
        """Return a list of texts."""
        return [self._text(f"{key}[{index}]", value) for index, value in enumerate(self._list(key))]

    def parts(self, key: str, about: str) -> list[ZnodeObject]:
        """Return a list of objects; errors call each `about` and its place in the list, from 1 on."""
        return [
            self._object(f"{key}[{index}]", value, f"{about} {index + 1}")
            for index, value in enumerate(self._list(key))
        ]

    def named_parts(self, key: str, about: str) -> Iterator[tuple[str, ZnodeObject]]:
        """Yield (name, object) for an object of objects; errors call each `about` and its name."""
        for name, value in self._named(key):
            yield name, self._object(f"{key}.{shown_name(name)}", value, f"{about} {shown_name(name)}")

    def named_texts(self, key: str) -> Iterator[tuple[str, str]]:
        """Yield (name, text) for an object of texts."""
        for name, value in self._named(key):
            yield name, self._text(f"{key}.{shown_name(name)}", value)

    def _value(self, key: str) -> object:
        if key not in self._members:
            raise self.fault(f"{key} is missing")
        return self._members[key]

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str) or not _is_text(value):
            raise self.fault(f"{key} is {shown(value)}, not a text")
        return value

    def _list(self, key: str) -> list[object]:
        value = self._value(key)
        if not isinstance(value, list):
            raise self.fault(f"{key} is {shown(value)}, not a list")
        return value

    def _members_of(self, key: str, value: object) -> dict[str, object]:
        if not isinstance(value, dict):
            raise self.fault(f"{key} is {shown(value)}, not an object")
        return value

    def _object(self, key: str, value: object, about: str) -> ZnodeObject:
        return ZnodeObject(self._path, about, self._members_of(key, value))

    def _named(self, key: str) -> Iterator[tuple[str, object]]:
        for name, value in self._members_of(key, self._value(key)).items():
            if not name or not _is_text(name) or len(name.encode()) > TEXT_BYTES_MAX:
                raise self.fault(f"{key} has the name {shown(name)}, not a text of 1 to {TEXT_BYTES_MAX} bytes")
            yield name, value


def read_object(data: bytes, path: str) -> ZnodeObject:
    """Parse the JSON object that a znode holds. Raises ZnodeError if it holds anything else."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        members = dict(pairs)
        if len(members) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ZnodeError(path, f"the key {shown(twice)} is twice in one object")
        return members

    if not data:
        raise ZnodeError(path, "it is empty")
    try:
        document: object = json.loads(data.decode(), object_pairs_hook=unique, parse_constant=_refuse)
    except UnicodeDecodeError as error:
        raise ZnodeError(path, f"it is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as json_error:
        raise ZnodeError(path, f"it is not JSON: {json_error.msg} (character {json_error.pos})") from None
    except ValueError:
        raise ZnodeError(path, "it has a number that nothing can hold") from None
    except RecursionError:
        raise ZnodeError(path, "it is nested too deeply") from None
    if not isinstance(document, dict):
        raise ZnodeError(path, f"it is {shown(document)}, not a JSON object")
    return ZnodeObject(path, "", document)


def read_version(znode: ZnodeObject, known: range) -> int:
    """Return the version of the schema. Raises ZnodeError if it is not a known one."""
    version = znode.number("version", -INT32_MAX - 1, INT32_MAX)
    if version not in known:
        raise znode.fault(f"the schema version {version} is unknown (known are {known[0]} to {known[-1]})")
    return version


def write_json(document: object) -> bytes:
    """Write JSON as Kafka does: without blanks, in UTF-8."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def shown(value: object) -> str:
    """Show what stands in a znode, in one line that is not too long."""
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case _:
            text = json.dumps(value)
            return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "..."


def shown_name(name: str) -> str:
    """Show a name: as it is if it looks like one."""
    return name if _PLAIN_NAME.fullmatch(name) else shown(name)


def _is_text(value: str) -> bool:
    """Return whether UTF-8 can encode the value: JSON can spell half a surrogate pair, UTF-8 cannot."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and the like are not JSON
