"""Partitions of the coordinators' topics: those of real Kafka in `tests/data/coordinator`, and variants of them.

`variants` makes logs that a coordinator may read (partly compacted, shuffled, with gaps) and logs that it should not
(damaged bytes, unknown versions, records of all releases in any order); the same seed makes the same logs.
"""

import gzip
import json
import struct
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from falkirk.coordinator.records.log_entry import LogEntry, LoggedRecord, TransactionEnd
from falkirk.protocol import codec
from falkirk.protocol.codec.layout import StructLayout, WireField, message_layout
from falkirk.protocol.messages import message_class
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release

DATA = Path(__file__).parents[1] / "data" / "coordinator"
# Those whose clusters the logs are from, and all that a downgrade may go to.
RELEASES = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
TARGETS = ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0")
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_TOPIC = "__share_group_state"

_TYPE_SETS = (
    None,
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 16},
    {1, 2, 9, 10, 11, 12, 13, 14, 15},
    {1, 2, 17, 19, 20, 21, 22, 23},
    {3, 5, 6, 7, 8},
    {1, 2},
)
_GROUPS, _MEMBERS = ("g1", "g2", ""), ("m1", "m2", "m3")
_TOPIC_IDS = (bytes([1]) * 16, bytes([2]) * 16, bytes(16))
_PRODUCERS = (7, 8)


def real_partitions(release: str, topic: str) -> dict[int, list[LogEntry]]:
    """Return the partitions of a topic as a cluster of this release left them."""
    partitions: dict[int, list[LogEntry]] = {}
    with gzip.open(DATA / f"logs-{release}.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            if row["topic"] == topic:
                partitions.setdefault(row["partition"], []).append(entry_of(row))
    return partitions


def all_real_partitions(topic: str) -> list[list[LogEntry]]:
    """Return the partitions of a topic in the clusters of all releases."""
    return [entries for release in RELEASES for entries in real_partitions(release, topic).values()]


def judged_logs() -> list[tuple[list[LogEntry], dict[tuple[str, str], str]]]:
    """Return logs and, by (release, loader), Kafka's verdict on each record: R read, S skipped, F fails.

    "!" at the end: the coordinator stopped after replaying all of them.
    Written by `tests/interop/coordinator/record_verdicts.py`.
    """
    with gzip.open(DATA / "verdicts.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    return [
        (
            [entry_of(entry) for entry in row["entries"]],
            {(loader.split()[0], loader.split()[1]): letters for loader, letters in row["verdicts"].items()},
        )
        for row in rows
    ]


def renumbered(entries: Iterable[LogEntry]) -> list[LogEntry]:
    """Return the entries renumbered from offset 0."""
    out: list[LogEntry] = []
    for offset, entry in enumerate(entries):
        if isinstance(entry, LoggedRecord):
            out.append(LoggedRecord(offset, entry.key, entry.value, entry.producer_id, entry.is_transactional))
        else:
            out.append(TransactionEnd(offset, entry.producer_id, entry.is_commit))
    return out


def variants(seed: int, count: int) -> list[list[LogEntry]]:
    """Return partitions of `__consumer_offsets`, half of them derived from real ones."""
    random = Random(seed)
    real = all_real_partitions(OFFSETS_TOPIC)
    return [
        Made(random).partition(random.choice((20, 60, 150)))
        if random.random() < 0.5
        else _varied(random, random.choice(real))
        for _ in range(count)
    ]


def variants_of_records(seed: int, count: int, topic: str) -> list[LogEntry]:
    """Return records of one of the other topics: real ones, generated ones, and damaged ones of both."""
    random = Random(seed)
    table = "transaction_records" if topic == TRANSACTIONS_TOPIC else "share_records"
    real = [entry for entries in all_real_partitions(topic) for entry in entries if isinstance(entry, LoggedRecord)]
    pairs: list[tuple[bytes | None, bytes | None]] = [(entry.key, entry.value) for entry in real]
    pairs += [Made(random).record(table, None) for _ in range(count)]
    pairs += [
        (damaged(random, key) if random.random() < 0.2 else key, damaged(random, value))
        for key, value in pairs
        if random.random() < 0.5
    ]
    return [LoggedRecord(offset, key, value) for offset, (key, value) in enumerate(pairs)]


def compacted(random: Random, entries: list[LogEntry], share: float) -> list[LogEntry]:
    """Drop this share of the records that are superseded by a later one of the same key."""
    last = {entry.key: index for index, entry in enumerate(entries) if isinstance(entry, LoggedRecord)}
    return [
        entry
        for index, entry in enumerate(entries)
        if not isinstance(entry, LoggedRecord) or last[entry.key] == index or random.random() > share
    ]


def damaged(random: Random, data: bytes | None) -> bytes | None:
    """Truncate, extend or change a few bytes, or change type or version."""
    if not data:
        return random.choice((None, b"", b"\0"))
    out = bytearray(data)
    at = random.randrange(len(out))
    match random.randrange(6):
        case 0:
            del out[at:]
        case 1:
            out += random.randbytes(random.randrange(1, 5))
        case 2:
            out[at] = random.randrange(256)
        case 3:
            out[at] ^= 1 << random.randrange(8)
        case 4:
            del out[at]
        case _:
            out[:2] = struct.pack(">h", random.choice((-1, 0, 1, 2, 3, 4, 5, 6, 9, 15, 18)))
    return bytes(out)


class Made:
    """Generates records of all releases for a handful of groups, members and topics, so that they interact."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def partition(self, size: int) -> list[LogEntry]:
        random = self._random
        types = random.choice(_TYPE_SETS)
        entries: list[LogEntry] = []
        for offset in range(size):
            if random.random() < 0.05:
                entries.append(TransactionEnd(offset, random.choice(_PRODUCERS), random.random() < 0.6))
                continue
            key: bytes | None
            key, value = self.record("group_records", types)
            producer_id = random.choice((-1, -1, -1, *_PRODUCERS))
            if random.random() < 0.05:
                value = damaged(random, value)
            if random.random() < 0.03:
                key = damaged(random, key)
            entries.append(LoggedRecord(offset, key, value, producer_id, producer_id >= 0))
        return entries

    def record(self, table: str, types: set[int] | None) -> tuple[bytes, bytes | None]:
        random = self._random
        having = [release for release in map(Release.parse, TARGETS) if getattr(release.kraft, table)]
        release = random.choice(having)
        records = getattr(release.kraft, table)
        type_ = random.choice([each for each in records if types is None or each in types] or list(records))
        key_class = message_class(records[type_].key_name)
        key_version = key_class.SCHEMA.info.versions.ranges[0][0]
        key_fields = self._struct(message_layout(key_class, key_version))
        key = struct.pack(">h", type_) + codec.encode(key_fields, key_version)
        if random.random() < 0.35:
            return key, None
        name = records[type_].value_name
        version = random.choice(list(records[type_].value_versions))
        layout = layout_in(release, name)
        value = self._struct(message_layout(message_class(name), version, layout))
        return key, struct.pack(">h", version) + codec.encode(value, version, layout=layout)

    def _struct(self, layout: StructLayout) -> Any:
        random = self._random
        values = {field.attribute: self._value(field) for field in layout.fields}
        values |= {field.attribute: self._value(field) for field in layout.tagged if random.random() < 0.5}
        struct_ = layout.cls(**values)
        if layout.flexible and random.random() < 0.1:
            struct_.unknown_tagged_fields = ((random.choice((5, 9)), b"xyz"),)
        return struct_

    def _value(self, field: WireField) -> Any:
        random = self._random
        if field.nullable and random.random() < 0.3:
            return None
        if field.is_array:
            make = self._primitive if field.struct is None else lambda each: self._struct(each.struct)
            elements = [make(field) for _ in range(random.choice((0, 0, 1, 1, 2, 3)))]
            return tuple(elements) if field.struct is None else elements
        return self._primitive(field) if field.struct is None else self._struct(field.struct)

    def _primitive(self, field: WireField) -> Any:
        random = self._random
        if field.type == "string":
            return random.choice(_STRINGS.get(field.attribute, ("a", "b", "range", "")))
        if field.type == "bytes":
            return self._subscription() if field.attribute == "subscription" else random.choice((b"", b"abc"))
        if field.type == "uuid":
            return random.choice(_TOPIC_IDS if random.random() < 0.1 else _TOPIC_IDS[:2])
        largest = {"bool": 1, "int8": 127, "int16": 300, "uint16": 300, "int32": 5, "uint32": 5, "int64": 10**10}
        return random.choice(_NUMBERS.get(field.attribute, (0, 1, 2, largest[field.type])))

    def _subscription(self) -> bytes:
        good = b"\0\1" + struct.pack(">i", 1) + b"\0\2t1" + struct.pack(">i", -1) + b"\0\0\0\0"
        return good if self._random.random() < 0.7 else damaged(self._random, good) or b""


_STRINGS = {
    "group": _GROUPS,
    "group_id": _GROUPS,
    "member_id": _MEMBERS,
    "group_instance_id": ("i1", "i2", "i3"),
    "protocol_type": ("consumer", "consumer", "", "connect"),
    "subtopology_id": ("s0", "s1"),
    "topic": ("t1", "t2"),
    "topic_name": ("t1", "t2", "t1", "t2", ""),
}
_NUMBERS = {
    "state": (0, 1, 2, 3, 9),
    "member_epoch": (-1, 0, 1, 2, 3, 5),
    "partition": (0, 1, 2),
    "partitions": (0, 1, 2),
    "num_partitions": (-1, 0, 1, 3),
    "epoch": (-2, -1, 0, 1, 2, 3),
    "assignment_epoch": (-2, -1, 0, 1, 2, 3),
    "minimum_version": (-2, -1, 0, 1),
    "maximum_version": (-1, 0, 1, 2),
    "transaction_status": (*range(9), 127),
    "client_transaction_version": (0, 1, 2, 3),
}


def _varied(random: Random, real: list[LogEntry]) -> list[LogEntry]:
    entries = list(real)
    if random.random() < 0.3:
        entries = compacted(random, entries, random.choice((1, 0.8, 0.5)))
    if random.random() < 0.3:
        kept = random.choice((0.7, 0.9))
        entries = [entry for entry in entries if random.random() < kept]
    if random.random() < 0.3 and len(entries) > 1:
        for _ in range(random.choice((1, 5, 30))):
            first, second = random.randrange(len(entries)), random.randrange(len(entries))
            entries[first], entries[second] = entries[second], entries[first]
    deletes = 0.1 if random.random() < 0.3 else 0
    damages = 0.1 if random.random() < 0.5 else 0
    return renumbered(_spoilt(random, entry, deletes, damages) for entry in entries)


def _spoilt(random: Random, entry: LogEntry, deletes: float, damages: float) -> LogEntry:
    if not isinstance(entry, LoggedRecord):
        return entry
    key = damaged(random, entry.key) if random.random() < damages / 3 else entry.key
    value = damaged(random, entry.value) if random.random() < damages else entry.value
    if random.random() < deletes:
        value = None
    return LoggedRecord(entry.offset, key, value, entry.producer_id, entry.is_transactional)


def row_of(entry: LogEntry) -> dict[str, Any]:
    """Return an entry in the format of the files in `tests/data/coordinator`."""
    if not isinstance(entry, LoggedRecord):
        return {"offset": entry.offset, "producerId": entry.producer_id, "commit": entry.is_commit}
    return {
        "offset": entry.offset,
        "producerId": entry.producer_id,
        "transactional": entry.is_transactional,
        "key": None if entry.key is None else entry.key.hex(),
        "value": None if entry.value is None else entry.value.hex(),
    }


def entry_of(row: dict[str, Any]) -> LogEntry:
    if "commit" in row:
        return TransactionEnd(row["offset"], row["producerId"], row["commit"])
    key, value = (None if row[name] is None else bytes.fromhex(row[name]) for name in ("key", "value"))
    return LoggedRecord(row["offset"], key, value, row["producerId"], row["transactional"])
