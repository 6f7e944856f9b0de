"""`meta.properties` in every log directory: its cluster, node and directory id (KIP-631, KIP-858).

Version 0 names the node `broker.id` and belongs to ZooKeeper mode, version 1 names it `node.id`. Unknown keys are
preserved, and so are order and comments.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.uuid import parse_uuid, uuid_text
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.integer_text import parse_integer
from falkirk.storage.properties_file import (
    PropertiesFile,
    PropertiesLine,
    format_properties,
    format_property,
    java_properties_order,
    parse_properties,
)

FILE_NAME = "meta.properties"
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The values, and the file itself (`properties`), so that it can be written back unchanged.

    Version 0 may lack `cluster_id` and `node_id`; `directory_id` exists since 3.7 (JBOD in KRaft).
    """

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: bytes | None
    properties: PropertiesFile


def parse_meta_properties(data: bytes, *, file: str = FILE_NAME) -> MetaProperties:
    """Read the file. Raises CorruptFileError if the version is unknown or a value is missing or malformed."""
    properties = parse_properties(data, file=file)
    version = _integer(properties, "version", file=file)
    version = 0 if version is None else version
    if version not in (0, 1):
        raise CorruptFileError(
            f"version is {version}, 0 or 1 was expected", offset=_offset(properties, "version"), file=file
        )
    node_id = _integer(properties, "broker.id" if version == 0 else "node.id", file=file)
    cluster_id = properties.get("cluster.id")
    if version == 1:
        for name, value in (("node.id", node_id), ("cluster.id", cluster_id)):
            if value is None:
                raise CorruptFileError(f"{name} is missing", offset=len(data), file=file)
    return MetaProperties(
        version=version,
        cluster_id=cluster_id,
        node_id=node_id,
        directory_id=_directory_id(properties, file=file),
        properties=properties,
    )


def format_meta_properties(meta: MetaProperties) -> bytes:
    """Write the file as it was read or made."""
    return format_properties(meta.properties)


def make_meta_properties(*, cluster_id: str, node_id: int, directory_id: bytes | None, now_ms: int) -> MetaProperties:
    """Make a new version 1, with Java's comment of the date and in the order in which Kafka's tools write it."""
    values = {"version": "1", "cluster.id": cluster_id, "node.id": str(node_id)}
    if directory_id is not None:
        values["directory.id"] = uuid_text(directory_id)
    lines = [PropertiesLine(raw=b"#\n"), PropertiesLine(raw=f"#{_java_date(now_ms)}\n".encode())]
    lines.extend(
        PropertiesLine(raw=format_property(key, values[key]), key=key, value=values[key])
        for key in java_properties_order(list(values))
    )
    return MetaProperties(
        version=1,
        cluster_id=cluster_id,
        node_id=node_id,
        directory_id=directory_id,
        properties=PropertiesFile(lines=tuple(lines)),
    )


def with_directory_id(meta: MetaProperties, directory_id: bytes | None) -> MetaProperties:
    """Set or remove the directory's id; all other lines stay."""
    if directory_id is None:
        properties = meta.properties.without_property("directory.id")
    else:
        properties = meta.properties.with_property("directory.id", uuid_text(directory_id))
    return replace(meta, directory_id=directory_id, properties=properties)


def _java_date(now_ms: int) -> str:
    # As java.util.Date prints it; strftime would use the host's language.
    date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    day = f"{_WEEKDAYS[date.weekday()]} {_MONTHS[date.month - 1]} {date.day:02d}"
    return f"{day} {date.hour:02d}:{date.minute:02d}:{date.second:02d} UTC {date.year}"


def _integer(properties: PropertiesFile, key: str, *, file: str) -> int | None:
    text = properties.get(key)
    if text is None:
        return None
    return parse_integer(text.strip(), what=key, bits=32, offset=_offset(properties, key), file=file)


def _directory_id(properties: PropertiesFile, *, file: str) -> bytes | None:
    text = properties.get("directory.id")
    if text is None:
        return None
    try:
        return parse_uuid(text)
    except LocalProtocolError as error:
        raise CorruptFileError(
            f"directory.id: {error}", offset=_offset(properties, "directory.id"), file=file
        ) from error


def _offset(properties: PropertiesFile, key: str) -> int:
    offset = found = 0
    for line in properties.lines:
        if line.key == key:
            found = offset
        offset += len(line.raw)
    return found
