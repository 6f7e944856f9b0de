"""The chapters of `transaction_story` about what is written: batches, markers, offsets of groups."""

from __future__ import annotations

from data_plane_story import build_batch_with
from recorded_story import TIMESTAMP
from transaction_steps import ADD_OFFSETS, END, MARKERS, OFFSETS, Producer, TransactionSteps

from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import OffsetFetchRequest
from falkirk.protocol.messages.offset_fetch_request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from falkirk.protocol.record import Record


class DataChapters(TransactionSteps):
    """Produce, WriteTxnMarkers and TxnOffsetCommit, and what consumers see of them."""

    def _batches(self) -> None:
        """Batches of producers that name their partitions before, as clients do up to version 11 of Produce."""
        self._new("data")
        self._init("a second epoch", "data")
        producer = self.producers["data"]
        self._produce("before the partition was added", "data", b"a")
        self._look("nothing was written")
        self._add("data", "data", ("one", 0))
        self._produce("first", "data", b"a", b"b")
        self._look("an open transaction")
        self._produce("next", "data", b"c", sequence=2)
        self._produce("again", "data", b"c", sequence=2)
        self._produce("a gap", "data", b"d", sequence=9)
        self._produce("to a partition that was not added", "data", b"d", number=1)
        self._produce("without a transaction", "data", b"d", sequence=3, is_transactional=False)
        self._produce("without an id", None, b"d", sequence=3, producer=producer)
        self._produce("another id", "other", b"d", sequence=3, producer=producer)
        self._produce("an older epoch", "data", b"d", sequence=3, producer=producer.later(-1))
        plain = build_batch([Record(0, TIMESTAMP, None, b"p")], base_offset=0)
        self._produce("without a producer, with an id", "data", records=plain)
        made = build_batch(
            [Record(0, TIMESTAMP, None, b"c")],
            base_offset=0,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=3,
            is_transactional=True,
        )
        for told, bits in (("control", 0x30), ("control, not transactional", 0x20)):
            self._produce(told, "data", records=build_batch_with(made, attributes=bits))
        self._produce("two batches", "data", records=made + made)
        for committed in (False, True):
            self._fetch(f"an open transaction, {committed=}", "one", is_committed=committed)
        self._end("data", "data")
        self._ready("data")
        self._look("a committed transaction")
        producer = self.producers["data"]
        self._produce("after the end", "data", b"e", sequence=3)
        self._produce("after the end, a new sequence", "data", b"e")
        self._produce("idempotent after a transaction", "data", b"i", sequence=3, is_transactional=False)
        self._add("data once more", "data", ("one", 0))
        self._produce("to be aborted", "data", b"f", sequence=3)
        self._produce("plain, in between", None, records=plain)
        self._end("data once more", "data", commit=False)
        self._ready("data")
        self._look("an aborted transaction")
        for committed in (False, True):
            self._fetch(f"an aborted transaction, {committed=}", "one", is_committed=committed)
        self._init("the next producer", "data")
        self._produce("of the former epoch", "data", b"g", sequence=4, producer=producer)

    def _newer_epoch(self) -> None:
        """An epoch that the coordinator never gave. Some releases take it, and the transaction cannot end."""
        self._new("newer", timeout_ms=900_000)
        self._add("of a newer epoch", "newer", ("three", 0))
        self._produce("first", "newer", b"a", topic="three")
        self._produce("a newer epoch", "newer", b"d", topic="three", producer=self.producers["newer"].later(1))
        self._look("a newer epoch", "three")

    def _implicit_partitions(self) -> None:
        """From version 12 of Produce and 5 of TxnOffsetCommit on the brokers add what is written to."""
        for version in (12, 13):
            if version not in self._versions(0) or not self._brokers_may_add:
                continue
            name = f"implicit-{version}"
            self._new(name)
            self._produce("implicitly", name, b"a", version=version, number=1)
            self._describe("implicitly added", name)
            self._produce("implicitly, next", name, b"b", version=version, number=1, sequence=1)
            self._produce("implicitly, older", name, b"c", version=version, producer=self.producers[name].later(-1))
            self._produce("implicitly, newer", name, b"c", version=version, producer=self.producers[name].later(1))
            self._produce("implicitly, unknown", "nobody", b"c", version=version, producer=self.producers[name])
            if 5 in self._versions(OFFSETS):
                self._commit_offsets("implicitly", name, "implicit", version=5)
                self._describe("offsets implicitly added", name)
            before = self.producers[name]
            self._end("implicitly", name, version=self._ranges[END].highest)
            self._ready(name)
            self._produce("implicitly, after the end", name, b"d", version=version, producer=before, number=1)
            self._produce("implicitly, the next", name, b"e", version=version, number=1)
            self._end("implicitly, the next", name, commit=False, version=self._ranges[END].highest)
            self._ready(name)
            self._describe("implicitly, ended", name)
            self._fetch("implicitly", "one", 1, is_committed=True)

    def _markers(self) -> None:
        for version in self._versions(MARKERS):
            name = f"marked-{version}"
            # It is never ended: its coordinator would be refused, after markers of a newer one.
            self._new(name, timeout_ms=900_000)
            self._init("a second epoch", name, timeout_ms=900_000)
            self._add("marked", name, ("two", 0))
            self._produce("marked", name, b"m", topic="two")
            producer = self.producers[name]
            self._mark("of nobody", version=version)
            self._mark("to what is not there", (producer, True, "two", 7, 0), version=version)
            self._mark("to a topic that is not there", (producer, True, "nowhere", 0, 0), version=version)
            self._mark("of an older epoch", (producer.later(-1), True, "two", 0, 0), version=version)
            self._mark("of a producer without a state", (Producer(9_876, 0), False, "two", 0, 0), version=version)
            self._look("not marked", "two")
            self._mark("good", (producer, False, "two", 0, 5), version=version)
            self._mark("again", (producer, False, "two", 0, 5), version=version)
            self._mark("of an older coordinator", (producer, True, "two", 0, 4), version=version)
            self._mark("of a newer epoch", (producer.later(1), True, "two", 0, 5), version=version)
            self._mark(
                "of the same epoch at level 2", (producer.later(1), True, "two", 0, 6), version=version,
                transaction_version=2,
            )  # fmt: skip
            self._mark("of two", (producer.later(2), True, "two", 0, 6), (producer, True, "two", 0, 6), version=version)
            self._mark("of a group", (producer.later(2), True, "__consumer_offsets", 0, 6), version=version)
            self._look("marked", "two")

    def _group_offsets(self) -> None:
        highest = self._ranges[OFFSETS].highest
        for version in self._versions(OFFSETS):
            name, group = f"offsets-{version}", f"group-{version}"
            self._new(name)
            self._init("a second epoch", name)
            if version < 5 or self._brokers_may_add:
                self._commit_offsets("before the transaction", name, group, version=version)
            adding = min(version, self._ranges[ADD_OFFSETS].highest)
            self._add_offsets("a group", name, group, version=adding)
            self._add_offsets("it again", name, group, version=adding)
            self._add_offsets("a group without a name", name, "", version=adding)
            self._commit_offsets("good", name, group, version=version)
            self._commit_offsets("to what is not there", name, group, "nowhere", version=version)
            self._commit_offsets("good and not there", name, group, "one", "nowhere", version=version, offset=6)
            self._commit_offsets("for a group without a name", name, "", version=version)
            self._commit_offsets("of an empty id", "", group, version=version, producer=self.producers[name])
            self._commit_offsets(
                "an older epoch", name, group, version=version, producer=self.producers[name].later(-1)
            )
            if version >= 3:
                for told, fields in {
                    "an unknown member": {"member_id": "m", "generation_id_or_member_epoch": 1},
                    "a generation without a member": {"generation_id_or_member_epoch": 3},
                    "an unknown instance": {"group_instance_id": "i", "member_id": "m"},
                }.items():
                    self._commit_offsets(told, name, group, version=version, **fields)
            self._offsets("while they are open", group)
            self._end("offsets", name, commit=version % 2 == 1)
            self._ready(name)
            self._offsets("after the end", group)
            if version == highest and self._brokers_may_add:
                self._commit_offsets("after the end", name, group, version=version)

    def _offsets(self, name: str, group: str) -> None:
        for stable in (False, True):
            asked = [OffsetFetchRequestGroup(group, topics=[OffsetFetchRequestTopics("one", partition_indexes=(0,))])]
            self._step(
                f"offsets of {group}, {stable=}: {name}", OffsetFetchRequest(groups=asked, require_stable=stable), 8
            )
