"""The options of the data sources."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.readers.splits import SPLIT_BYTES

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMES: Final = (
    "path",
    "paths",
    "problems",
    "splitBytes",
    "topic",
    "timeZone",
    "keepSecrets",
)
_BYTES: Final = re.compile(r"([0-9]{1,15})([kmg]?)b?", re.IGNORECASE)
_UNITS: Final = {"": 0, "k": 10, "m": 20, "g": 30}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Parsed options of a source; see docs/reference/fleet-sources.md."""

    paths: tuple[str, ...]
    problems: bool = False
    split_bytes: int = SPLIT_BYTES
    topic: str | None = None
    zone: tzinfo = UTC
    keep_secrets: bool = False


def parse_options(source: str, options: Mapping[str, str]) -> SourceOptions:
    """Parse options; names are case-insensitive. Raises InventoryError, naming the option."""
    given = {name.lower(): value for name, value in options.items()}
    unknown = sorted(given.keys() - {name.lower() for name in _NAMES})
    if unknown:
        raise InventoryError(f"{source} has no option {unknown[0]}; it has {', '.join(_NAMES)}")
    paths = tuple(json.loads(given["paths"])) if "paths" in given else ()
    paths += (given["path"],) if given.get("path") else ()
    if not paths or not all(paths):
        raise InventoryError(f"{source}: no path is named; load a file, a directory, a pattern or a URI")
    return SourceOptions(
        paths=paths,
        problems=_flag("problems", given.get("problems", "false")),
        split_bytes=_bytes("splitBytes", given.get("splitbytes", str(SPLIT_BYTES))),
        topic=given.get("topic"),
        zone=_zone(given.get("timezone", "UTC")),
        keep_secrets=_flag("keepSecrets", given.get("keepsecrets", "false")),
    )


def _flag(name: str, text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise InventoryError(f"option {name} is {text!r}; it must be true or false")
    return text.lower() == "true"


def _bytes(name: str, text: str) -> int:
    found = _BYTES.fullmatch(text.strip())
    size = int(found[1]) << _UNITS[found[2].lower()] if found else 0
    if not size:
        raise InventoryError(f"option {name} is {text!r}; it must be a number of bytes: 33554432, or 32m")
    return size


def _zone(text: str) -> tzinfo:
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InventoryError(f"option timeZone is {text!r}; it must be a zone like UTC or Europe/Berlin") from error
