"""One sequence of data requests for a broker of a new cluster; its responses are compared with Kafka's.

`recorded_story` has the form of the responses.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crc32c import crc32c
from recorded_story import TIMESTAMP, RecordedStory, different_steps, read_steps, write_steps

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.compression import Compression
from falkirk.protocol.messages import (
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from falkirk.protocol.messages.create_topics_request import CreatableTopic, CreatableTopicConfig
from falkirk.protocol.messages.delete_records_request import DeleteRecordsPartition, DeleteRecordsTopic
from falkirk.protocol.messages.describe_log_dirs_request import DescribableLogDirTopic
from falkirk.protocol.messages.describe_producers_request import TopicRequest
from falkirk.protocol.messages.fetch_request import FetchPartition, FetchTopic, ForgottenTopic, ReplicaState
from falkirk.protocol.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsTopic
from falkirk.protocol.messages.metadata_request import MetadataRequestTopic
from falkirk.protocol.messages.offset_for_leader_epoch_request import OffsetForLeaderPartition, OffsetForLeaderTopic
from falkirk.protocol.messages.produce_request import PartitionProduceData, TopicProduceData
from falkirk.protocol.record import Record

if TYPE_CHECKING:
    from falkirk.versions.release import Release

DATA = Path(__file__).parent.parent / "data" / "data_plane"

TOPICS = {
    "plain": {},
    "other": {},
    "append-time": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "small": {"max.message.bytes": "200"},
    "zstd": {"compression.type": "zstd"},
}
# Steps that a broker of ours answers otherwise, with the reason; all releases, or one.
DIFFERENCES = {
    ("produce: unknown codec", None): "INVALID_RECORD says what is wrong, Kafka fails with UNKNOWN_SERVER_ERROR",
    **{
        ("offsets of a partition twice", release): "told once, as since 4.0; before, as often as it was asked"
        for release in ("3.7.2", "3.9.1")
    },
    **{
        (f"offsets of {timestamp}", "3.7.2"): "UNSUPPORTED_VERSION, as in later releases; 3.7 takes it for a time"
        for timestamp in range(-7, -2)
    },
}


def golden(release: Release) -> list[dict[str, Any]]:
    """Return Kafka's recorded responses, step by step."""
    return read_steps(DATA / f"answers-{release}.jsonl")


def write_golden(release: Release, steps: list[dict[str, Any]]) -> None:
    """Record Kafka's responses."""
    write_steps(DATA / f"answers-{release}.jsonl", steps)


def unexpected(release: Release, *, ours: list[dict[str, Any]], real: list[dict[str, Any]]) -> list[Any]:
    """Return the steps with different responses, and the entries of DIFFERENCES that never occurred."""
    return different_steps(ours, real, known={step for step, name in DIFFERENCES if name in (None, release.name)})


def batch(*values: bytes | None, key: bytes | None = None, timestamp: int = TIMESTAMP, **fields: Any) -> bytes:
    """Return a batch of records with these values."""
    records = [Record(index, timestamp + index, key, value) for index, value in enumerate(values)]
    return build_batch(records, base_offset=0, **fields)


class Story(RecordedStory):
    """Sends request after request. `steps` yields lines in the format of the golden files."""

    NOW_FIELDS = frozenset({"log_append_time_ms"})
    UNORDERED = frozenset({0, 2, 21, 23, 34, 35})

    def steps(self) -> list[dict[str, Any]]:
        """Run the sequence; return name, version and response of each step."""
        self._make_topics()
        for part in (
            self._produce,
            self._produce_bad_bytes,
            self._produce_old_messages,
            self._produce_idempotent,
            self._fetch,
            self._fetch_sessions,
            self._list_offsets,
            self._epochs,
            self._producers,
            self._log_dirs,
            self._delete_records,
        ):
            part()
        return self._steps

    def _records(self, data: bytes) -> Any:
        return old_messages(data) if data[16] < 2 else super()._records(data)

    # --- The steps

    def _make_topics(self) -> None:
        topics = [
            CreatableTopic(name, 1, 1, configs=[CreatableTopicConfig(*item) for item in configs.items()])
            for name, configs in TOPICS.items()
        ]
        answer = self._asker.ask(CreateTopicsRequest(topics, 30_000), 5)
        assert {topic.error_code for topic in answer.topics} == {0}, answer
        asked = MetadataRequest([MetadataRequestTopic(name=name) for name in TOPICS])
        for _ in range(300):
            metadata = self._asker.ask(asked, 12)
            leaders = {part.leader_id for topic in metadata.topics for part in topic.partitions}
            if leaders and min(leaders) >= 0 and all(topic.error_code == 0 for topic in metadata.topics):
                break
            self._asker.wait()
        self.ids = {topic.name: topic.topic_id for topic in metadata.topics}
        for name in TOPICS:
            # The leader may not know yet that it is.
            request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, -2)])])
            while self._asker.ask(request, 7).topics[0].partitions[0].error_code:
                self._asker.wait()

    def _produce_request(
        self, version: int, *partitions: tuple[str, int, bytes | None], acks: int = -1, **fields: Any
    ) -> ProduceRequest:
        topics = [
            TopicProduceData(
                name if version < 13 else "",
                self._id(name) if version >= 13 else bytes(16),
                [PartitionProduceData(number, records)],
            )
            for name, number, records in partitions
        ]
        return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topics, **fields)

    def _produce_step(self, name: str, version: int, *partitions: tuple[str, int, bytes | None], **fields: Any) -> None:
        self._step(f"produce: {name}", self._produce_request(version, *partitions, **fields), version)

    def _produce(self) -> None:
        good = batch(b"a", b"b")
        for version in self._versions(0):
            if version >= 3:
                self._produce_step("records", version, ("plain", 0, good))
                self._produce_step("to what is not there", version, ("plain", 1, good), ("nowhere", 0, good))
        for version in (0, 1, 2):
            if version not in self._ranges[0]:
                self._produce_step("a version that is told but not served", version, ("plain", 0, good))
        newest = self._ranges[0].highest
        for version in (3, 8, newest):
            self._produce_step("acks 2", version, ("plain", 0, good), acks=2)
            self._produce_step("acks 1", version, ("plain", 0, good), acks=1)
            self._produce_step("at append time", version, ("append-time", 0, good))
            self._produce_step("without a key", version, ("compacted", 0, good))
            self._produce_step("with a key", version, ("compacted", 0, batch(b"v", None, key=b"k")))
            self._produce_step("too large", version, ("small", 0, batch(bytes(300))))
            self._produce_step("more than a request holds", version, ("plain", 0, batch(bytes(1_100_000))))
            self._produce_step("from times to come", version, ("plain", 0, batch(b"a", b"b", timestamp=2**62)))
            self._produce_step("zstd", version, ("plain", 0, batch(b"a", compression=Compression.ZSTD)))
            self._produce_step("gzip", version, ("plain", 0, batch(b"a", compression=Compression.GZIP)))
            self._produce_step("good and bad", version, ("other", 0, good), ("compacted", 0, good))
        for records, is_good in ((good, True), (batch(bytes(1_100_000)), False)):
            stays = self._asker.tell(self._produce_request(9, ("plain", 0, records), acks=0), 9)
            self._steps.append({"step": f"produce: acks 0, {is_good=}", "version": 9, "answer": stays})

    def _produce_bad_bytes(self) -> None:
        good = batch(b"a", b"b")
        changed = {
            "wrong CRC": good[:-1] + b"\xff",
            "magic 0": good[:16] + b"\0" + good[17:],
            "magic 1": good[:16] + b"\1" + good[17:],
            "magic 3": good[:16] + b"\3" + good[17:],
            "magic -1": good[:16] + b"\xff" + good[17:],
            "length 0": good[:8] + bytes(4) + good[12:],
            "length 20": good[:8] + (20).to_bytes(4, "big") + good[12:],
            "length -1": good[:8] + b"\xff" * 4 + good[12:],
            "a length too long": good[:8] + (len(good)).to_bytes(4, "big") + good[12:],
            "cut off": good[:-1],
            "nothing": b"",
            "two batches": good + good,
            "a batch and more": good + b"\0" * 5,
            "a batch and zeros": good + bytes(40),
            "one byte": b"\0",
        }
        for name, records in changed.items():
            for version in (3, self._ranges[0].highest):
                self._produce_step(name, version, ("plain", 0, records))
        self._produce_step("one of two is bad", 9, ("plain", 0, changed["magic 3"]), ("other", 0, good))
        fields = {
            "unknown codec": build_batch_with(good, attributes=5),
            "control": build_batch_with(good, attributes=0x20),
            "count too high": build_batch_with(good, count=9),
            "count too low": build_batch_with(good, count=1),
            "count 0": build_batch_with(good, count=0),
            "last offset delta too high": build_batch_with(good, last_offset_delta=7),
            "negative last offset delta": build_batch_with(good, last_offset_delta=-1),
            "base offset 7": (7).to_bytes(8, "big") + good[8:],
            "log append time": build_batch_with(good, attributes=8),
        }
        for name, records in fields.items():
            self._produce_step(name, 9, ("other", 0, records))

    def _produce_old_messages(self) -> None:
        for version in (0, 1, 2):
            if version not in self._ranges[0]:
                continue
            for magic in (0, 1):
                old = message(b"k", b"v", magic)
                self._produce_step(f"a message of magic {magic}", version, ("other", 0, old))
                self._produce_step(f"two messages of magic {magic}", version, ("other", 0, old + old))
                self._produce_step(f"a wrong CRC of magic {magic}", version, ("other", 0, old[:-1] + b"\xff"))
                self._produce_step(f"magic {magic} to what is compacted", version, ("compacted", 0, old))
            self._produce_step("a batch of magic 2", version, ("other", 0, batch(b"new")))
            self._produce_step("nothing", version, ("other", 0, b""))

    def _produce_idempotent(self) -> None:
        for version in self._versions(22):
            answer = None
            for _ in range(300):
                answer = self._asker.ask(InitProducerIdRequest(None), version)
                if answer.error_code != COORDINATOR_LOAD_IN_PROGRESS:
                    break
                self._asker.wait()
            assert answer is not None
            self._steps.append(
                {"step": "an id", "version": version, "answer": [answer.error_code, answer.producer_epoch]}
            )
            self._step("an id for nobody", InitProducerIdRequest(""), version)
        for producer_id, epoch in ((5, -1), (-1, 0)):
            self._step(f"an id for {producer_id}, {epoch}", InitProducerIdRequest(None, 0, producer_id, epoch), 3)

        def send(name: str, sequence: int, epoch: int = 0, *, count: int = 2) -> None:
            records = batch(*[b"i"] * count, producer_id=9_000, producer_epoch=epoch, base_sequence=sequence)
            self._produce_step(f"idempotent, {name}", 9, ("other", 0, records))

        send("first", 0)
        send("next", 2)
        send("the first again", 0)
        send("a gap", 7)
        send("part of a batch again", 2, count=1)
        send("a newer epoch that does not begin", 3, 1)
        send("a newer epoch", 0, 1)
        send("an older epoch", 4, 0)
        send("the newer one goes on", 2, 1)
        send("without a sequence", -1, 1)
        transactional = batch(b"t", producer_id=9_001, producer_epoch=0, base_sequence=0, is_transactional=True)
        self._produce_step("transactional without an id", 9, ("other", 0, transactional))
        unknown = batch(b"u", producer_id=9_002, producer_epoch=0, base_sequence=5)
        self._produce_step("idempotent, an unknown producer that goes on", 9, ("other", 0, unknown))

    def _fetch_request(self, version: int, *asked: tuple[str, FetchPartition], **fields: Any) -> FetchRequest:
        topics = [
            FetchTopic(name if version < 13 else "", self._id(name) if version >= 13 else bytes(16), [partition])
            for name, partition in asked
        ]
        fields = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1_000_000} | fields
        return FetchRequest(topics=topics, **fields)

    def _fetch_step(self, name: str, version: int, *asked: tuple[str, FetchPartition], **fields: Any) -> Any:
        return self._step(f"fetch: {name}", self._fetch_request(version, *asked, **fields), version)

    def _fetch(self) -> None:
        def at(offset: int, **fields: Any) -> FetchPartition:
            return FetchPartition(**{"fetch_offset": offset, "partition_max_bytes": 300} | fields)

        for version in self._versions(1):
            self._fetch_step("from an offset on", version, ("plain", at(1)))
            self._fetch_step("other and what is not there", version, ("plain", at(2, partition=1)), ("nowhere", at(0)))
            self._fetch_step("of a topic of zstd", version, ("zstd", at(0)))
            self._fetch_step("beyond the end", version, ("plain", at(1000)))
            self._fetch_step("a negative offset", version, ("plain", at(-1)))
            self._fetch_step("one batch whatever its size", version, ("plain", at(0, partition_max_bytes=1)))
        for version in (4, 12, self._ranges[1].highest):
            self._fetch_step("little in all", version, ("plain", at(0)), ("append-time", at(0)), max_bytes=1)
            self._fetch_step("committed", version, ("plain", at(0, partition_max_bytes=80)), isolation_level=1)
            self._fetch_step("at the end", version, ("small", at(0)))
            self._fetch_step("more than there is", version, ("small", at(0)), min_bytes=1000, max_wait_ms=50)
            self._fetch_step("for debugging", version, ("plain", at(0)), replica_id=-2 if version < 15 else -1)
        for version in (12, self._ranges[1].highest):
            self._fetch_step("an epoch to come", version, ("plain", at(0, current_leader_epoch=7)))
            self._fetch_step("the epoch", version, ("plain", at(0, current_leader_epoch=0)))
            self._fetch_step("an epoch that is not known", version, ("plain", at(0, last_fetched_epoch=7)))
            self._fetch_step("an epoch that has ended", version, ("small", at(9, last_fetched_epoch=0)))
            self._fetch_step("as a follower that is none", version, ("plain", at(0)), **follower(version, 77))

    def _fetch_sessions(self) -> None:
        def at(offset: int) -> FetchPartition:
            return FetchPartition(fetch_offset=offset, partition_max_bytes=80)

        newest = self._ranges[1].highest
        for version in (7, newest):
            first = self._fetch_step("a new session", version, ("plain", at(0)), ("other", at(0)), session_epoch=0)
            session = {"session_id": first.session_id}
            self._fetch_step("in it", version, session_epoch=1, **session)
            self._fetch_step("behind all", version, ("plain", at(0)), ("other", at(900)), session_epoch=2, **session)
            self._fetch_step("in it again", version, session_epoch=3, **session)
            self._fetch_step("one more topic", version, ("nowhere", at(0)), session_epoch=4, **session)
            self._fetch_step("an old epoch", version, session_epoch=2, **session)
            self._fetch_step("an unknown session", version, session_id=123, session_epoch=1)
            other = newest if version < 13 else 12
            self._fetch_step("names for ids or ids for names", other, session_epoch=5, **session)
            gone = [
                ForgottenTopic(name if version < 13 else "", self._id(name) if version >= 13 else bytes(16), (0,))
                for name in ("plain", "other", "nowhere")
            ]
            self._fetch_step("less", version, session_epoch=5, forgotten_topics_data=gone[:2], **session)
            self._fetch_step("nothing left", version, session_epoch=6, forgotten_topics_data=gone, **session)
            self._fetch_step("after that", version, session_epoch=7, **session)
            self._fetch_step("the last word", version, ("plain", at(0)), session_epoch=-1)

    def _list_offsets(self) -> None:
        for version in self._versions(2):
            for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, TIMESTAMP + 1, 2**62):
                if version == 0 and timestamp >= 0:
                    # Goes by the times of files there.
                    continue
                asked = ListOffsetsPartition(0, -1, timestamp, max_num_offsets=1)
                topics = [ListOffsetsTopic(name, [asked]) for name in ("plain", "small")]
                self._step(f"offsets of {timestamp}", ListOffsetsRequest(-1, 0, topics), version)
        for version in (1, 4, self._ranges[2].highest):
            twice = ListOffsetsTopic("plain", [ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(0, -1, -2)])
            self._step("offsets of a partition twice", ListOffsetsRequest(-1, 0, [twice]), version)
            nowhere = [
                ListOffsetsTopic(name, [ListOffsetsPartition(number, -1, -1)])
                for name, number in (("plain", 1), ("nowhere", 0))
            ]
            self._step("offsets of what is not there", ListOffsetsRequest(-1, 0, nowhere), version)
            for replica_id in (-2, 1, 77):
                topic = ListOffsetsTopic("plain", [ListOffsetsPartition(0, -1, -1)])
                self._step(f"offsets for {replica_id}", ListOffsetsRequest(replica_id, 0, [topic]), version)
            for epoch in (0, 9) if version >= 4 else ():
                topic = ListOffsetsTopic("plain", [ListOffsetsPartition(0, epoch, -1)])
                self._step(f"offsets in epoch {epoch}", ListOffsetsRequest(-1, 0, [topic]), version)

    def _epochs(self) -> None:
        for version in self._versions(23):
            for name, number in (("plain", 0), ("small", 0), ("plain", 1), ("nowhere", 0)):
                for epoch, current in ((0, -1), (1, -1), (-1, -1), (0, 0), (0, 3)):
                    asked = OffsetForLeaderTopic(name, [OffsetForLeaderPartition(number, current, epoch)])
                    step = f"the end of epoch {epoch} in {current}"
                    self._step(step, OffsetForLeaderEpochRequest(-1, [asked]), version)

    def _producers(self) -> None:
        topics = [TopicRequest(name, (0, 1)) for name in ("other", "plain", "nowhere", "no/name", "")]
        self._step("producers", DescribeProducersRequest(topics), 0)

    def _log_dirs(self) -> None:
        for version in self._versions(35):
            answer = self._asker.ask(
                DescribeLogDirsRequest([DescribableLogDirTopic(name, (0, 1)) for name in TOPICS]), version
            )
            (told,) = answer.results
            topics = sorted(
                (topic.name, each.partition_index, each.partition_size, each.offset_lag, each.is_future_key)
                for topic in told.topics
                for each in topic.partitions
            )
            found = {"error": [answer.error_code, told.error_code], "topics": topics, "cordoned": told.is_cordoned}
            self._steps.append({"step": "log dirs", "version": version, "answer": json.loads(json.dumps(found))})

    def _delete_records(self) -> None:
        for version in self._versions(21):
            for name, number, offset in (
                ("plain", 0, 10_000),
                ("plain", 0, -2),
                ("plain", 0, 1 + version),
                ("plain", 1, 1),
                ("nowhere", 0, 1),
                ("compacted", 0, 1),
                ("append-time", 0, -1),
            ):
                topic = DeleteRecordsTopic(name, [DeleteRecordsPartition(number, offset)])
                self._step(f"delete {name}-{number} up to {offset}", DeleteRecordsRequest([topic], 5000), version)
        at = FetchPartition(fetch_offset=0, partition_max_bytes=300)
        self._fetch_step("what was deleted", 12, ("plain", at))
        topic = ListOffsetsTopic("plain", [ListOffsetsPartition(0, -1, -2)])
        self._step("the start after it was moved", ListOffsetsRequest(-1, 0, [topic]), 7)


COORDINATOR_LOAD_IN_PROGRESS = 14


def follower(version: int, replica_id: int) -> dict[str, Any]:
    """Return the Fetch fields that identify a follower."""
    if version < 15:
        return {"replica_id": replica_id}
    return {"replica_id": -1, "replica_state": ReplicaState(replica_id, -1)}


def build_batch_with(
    good: bytes, *, attributes: int | None = None, count: int | None = None, last_offset_delta: int | None = None
) -> bytes:
    """Change a batch's header and fix its CRC."""
    changed = bytearray(good)
    if attributes is not None:
        changed[21:23] = attributes.to_bytes(2, "big")
    if last_offset_delta is not None:
        changed[23:27] = last_offset_delta.to_bytes(4, "big", signed=True)
    if count is not None:
        changed[57:61] = count.to_bytes(4, "big")
    changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def message(key: bytes | None, value: bytes | None, magic: int) -> bytes:
    """Return a message of magic 0 or 1 (before Kafka 0.11)."""
    body = bytes([magic, 0]) + (TIMESTAMP.to_bytes(8, "big") if magic else b"")
    for field in (key, value):
        body += b"\xff" * 4 if field is None else len(field).to_bytes(4, "big") + field
    return bytes(8) + (len(body) + 4).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body


def old_messages(data: bytes) -> list[list[Any]]:
    """Return offset, magic, and the rest, of messages of magic 0 and 1.

    Kafka pads down-converted records to their former size with a message of offset -1, which is not a message.
    """
    messages: list[list[Any]] = []
    at = 0
    while len(data) - at > 17:
        offset, size = struct.unpack_from(">qi", data, at)
        end = at + 12 + size
        if offset < 0 or end > len(data):
            break
        messages.append([offset, data[at + 16], data[at + 17 : end].hex()])
        at = end
    return messages
