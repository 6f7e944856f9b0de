"""What transactional producers may ask for, rightly and wrongly, in every state and version; for real brokers and ours.

The responses of real Kafka, and the records that its coordinator wrote, are in tests/data/transactions, one file for
each release and level of transaction.version.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recorded_story import different_steps, read_steps
from transaction_data import DataChapters
from transaction_steps import (
    ADD_OFFSETS,
    ADD_PARTITIONS,
    END,
    INIT,
    MARKERS,
    OFFSETS,
    STATE_TOPIC,
    Producer,
)

from falkirk.protocol.messages import (
    AddPartitionsToTxnRequest,
    AlterPartitionReassignmentsRequest,
    CreateAclsRequest,
    DeleteTopicsRequest,
    DescribeTransactionsRequest,
    InitProducerIdRequest,
)
from falkirk.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from falkirk.protocol.messages.alter_partition_reassignments_request import ReassignablePartition, ReassignableTopic
from falkirk.protocol.messages.create_acls_request import AclCreation

DATA = Path(__file__).parent.parent / "data" / "transactions"
# A release, and the level of transaction.version.
RECORDED = (("3.9.1", 0), ("4.3.1", 0), ("4.3.1", 1), ("4.3.1", 2))
# What a broker needs to have beside the usual.
SETTINGS = {
    "auto.create.topics.enable": "false",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:nobody",
    # A broker that is killed leads on: real brokers write no markers for partitions that have no leader.
    "broker.session.timeout.ms": "600000",
}
# The same for a node in this process.
NODE_SETTINGS: dict[str, Any] = {
    "authorizer_class_name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super_users": SETTINGS["super.users"],
    "allow_everyone_if_no_acl_found": True,
    "broker_session_timeout_ms": int(SETTINGS["broker.session.timeout.ms"]),
    "properties": SETTINGS,
}
_CLUSTER, _TOPIC, _GROUP, _TRANSACTIONAL_ID = 4, 2, 3, 5
_ALL, _ALTER, _DESCRIBE = 2, 7, 8
_UNAUTHORIZED_CLUSTER, _UNAUTHORIZED_ID = 31, 53
TOO_LONG_MS = 900_001


def golden_file(release: str, level: int) -> Path:
    """Return the file with Kafka's responses."""
    return DATA / f"answers-{release}-level-{level}.jsonl"


def golden(release: str, level: int) -> list[dict[str, Any]]:
    """Return Kafka's recorded responses, step by step."""
    return read_steps(golden_file(release, level))


# Compared as they are, without a file.
OTHERS = (("3.7.2", 0), ("4.0.0", 2), ("4.4.0", 2))
_KEPT_START = "no transaction has a start when it is over; up to 4.0 it has one until the log is loaded again"
_SAME_EPOCH = "a batch of another epoch is verified, as from 4.0 on: before, it is taken, and its transaction stays"
_KEPT_OFFSETS = "offsets that are pending stay so when later ones are refused; before 4.0 they are forgotten"
_3 = ("3.7.2", "3.9.1")
# Steps that a broker of ours answers otherwise, with the releases and the reason.
DIFFERENCES: dict[str, tuple[tuple[str, ...], str]] = {
    "describe: after it was fenced": ((*_3, "4.0.0"), _KEPT_START),
    "list: older": (("3.9.1", "4.0.0"), _KEPT_START),
    "produce: an older epoch": (_3, _SAME_EPOCH),
    "produce: a newer epoch": (_3, _SAME_EPOCH),
    "end for level 0: a newer epoch": (_3, _SAME_EPOCH),
    "producers: a newer epoch": (_3, _SAME_EPOCH),
    **{f"offsets of group-{at}, stable=True: while they are open": (_3, _KEPT_OFFSETS) for at in range(3)},
    "offsets of group-1, stable=False: after the end": (_3, _KEPT_OFFSETS),
    "offsets of group-1, stable=True: after the end": (_3, _KEPT_OFFSETS),
}


def unexpected(release: str, *, ours: list[dict[str, Any]], real: list[dict[str, Any]]) -> list[Any]:
    """Return the steps with different responses, and the entries of DIFFERENCES that never occurred."""
    known = {step for step, (releases, _) in DIFFERENCES.items() if release in releases}
    return different_steps(ours, real, known=known)


class TransactionStory(DataChapters):
    """The chapters, in an order in which one leaves nothing open for the next."""

    def play(self, level: int) -> list[dict[str, Any]]:
        """Play all chapters at a level of transaction.version; return name, version and response of each step."""
        self._set_up(level)
        for chapter in (
            self._coordinators,
            self._ids,
            self._bad_references,
            self._partitions,
            self._many_transactions,
            self._group_offsets,
            self._ends,
            self._batches,
            self._newer_epoch,
            self._implicit_partitions,
            self._markers,
            self._descriptions,
            self._timeouts,
            self._moved_coordinator,
            self._unfinished,
            self._logs,
            self._rights,
        ):
            chapter()
        return self._steps

    # --- The chapters

    def _coordinators(self) -> None:
        for version in self._versions(10):
            for name in ("a", ""):
                if version or name:
                    self._find(f"the coordinator of '{name}'", version, 1 if version else 0, name)
            if version >= 4:
                self._find("three at once", version, 1, "a", "", "b")
                self._find("none", version, 1)
            if version:
                self._find("an unknown kind", version, 9, "a")

    def _ids(self) -> None:
        for version in self._versions(INIT):
            name = f"init-{version}"
            self._init("an empty id", "", version)
            for timeout_ms in (0, -1, TOO_LONG_MS, 900_000):
                self._init(f"a timeout of {timeout_ms}", f"{name}-timeout", version, timeout_ms=timeout_ms)
            first = self._new(name, version)
            self._init("again", name, version)
            if version < 3:
                continue
            second = self.producers[name]
            self._init("with its producer", name, version, second)
            self._init("the same again", name, version, second)
            self._init("an old epoch", name, version, first)
            self._init("an epoch to come", name, version, self.producers[name].later(5))
            self._init("another producer", name, version, Producer(second.id + 500, 0))
            self._init("a producer for an unknown id", f"{name}-unknown", version, Producer(second.id, 3))
            for producer in (Producer(5, -1), Producer(-1, 0)):
                self._init(f"half a producer {list(producer)}", name, version, producer)
            if version >= 6:
                for enable, keep in ((True, False), (False, True), (True, True)):
                    two_phases = {"enable2pc": enable, "keep_prepared_txn": keep}
                    self._init(f"prepared ones {enable} {keep}", name, version, **two_phases)
        for version in self._versions(INIT):
            for given in (False, True) if version >= 3 else (False,):
                name = f"open-{version}-{given}"
                self._new(name)
                self._add("to be fenced", name, ("one", 0))
                old = self.producers[name]
                told = f"while a transaction is open, {given=}"
                self._init(told, name, version, old if given else None)
                self._ready(name)
                self._init(f"{told}, again", name, version, old if given else None)
                self._add("of one that was fenced", name, ("one", 0), producer=old)
                self._end("of one that was fenced", name, producer=old, version=self._ranges[END].highest)
                self._describe("after it was fenced", name)

    def _bad_references(self) -> None:
        self._new("bad")
        self._init("a second epoch", "bad")
        self._asked_badly("an empty transaction", "bad", every_version=True)
        self._add("begins", "bad", ("one", 0))
        self._asked_badly("an open transaction", "bad", every_version=True)
        self._end("to be committed", "bad")
        self._ready("bad")
        self._asked_badly("a committed transaction", "bad")
        self._add("begins again", "bad", ("one", 0))
        self._end("to be aborted", "bad", commit=False)
        self._ready("bad")
        self._asked_badly("an aborted transaction", "bad")

    def _asked_badly(self, state: str, name: str, *, every_version: bool = False) -> None:
        """Ask everything in the name of a producer that does not have the id; nothing changes."""
        known = self.producers[name]
        references = {
            "an unknown id": ("nobody", known),
            "an empty id": ("", known),
            "another producer": (name, Producer(known.id + 500, known.epoch)),
            "no producer": (name, Producer(-1, -1)),
            "an older epoch": (name, known.later(-1)),
            "a newer epoch": (name, known.later(1)),
        }
        for kind, (given, producer) in references.items():
            told = f"{kind}, {state}"
            for version in self._some_versions(ADD_PARTITIONS, every_version):
                self._add(told, given, ("one", 0), ("two", 0), version=version, producer=producer)
                if version >= 4:
                    self._add(f"verify {told}", given, ("one", 0), version=version, producer=producer, verify_only=True)
            for version in self._some_versions(ADD_OFFSETS, every_version):
                self._add_offsets(told, given, "readers", version=version, producer=producer)
            for version in self._some_versions(END, every_version):
                for commit in (True, False):
                    self._end(told, given, commit=commit, version=version, producer=producer)
        self._describe(state, name)

    def _partitions(self) -> None:
        for version in self._adding_versions():
            name = f"partitions-{version}"
            self._new(name)
            self._add("none", name, version=version)
            for topic, number in (("nowhere", 0), ("one", 9), ("no/name", 0), ("", 0), ("one", -1)):
                self._add(f"{topic}-{number}", name, (topic, number), version=version)
            self._add("one of two is unknown", name, ("one", 0), ("nowhere", 0), version=version)
            self._describe("nothing was added", name)
            self._add("good", name, ("one", 0), version=version)
            self._add("the same again", name, ("one", 0), version=version)
            self._add("more", name, ("one", 1), ("two", 0), version=version)
            self._add("twice in one", name, ("one", 1), ("one", 1), version=version)
            self._add("the group topic", name, ("__consumer_offsets", 0), version=version)
            if version >= 4:
                for topic, number in (("one", 0), ("one", 9), ("nowhere", 0), ("two", 0)):
                    told = f"verify {topic}-{number}"
                    self._add(told, name, (topic, number), version=version, verify_only=True)
            self._describe("what was added", name)
            self._end("what was added", name)
            self._ready(name)
            if version >= 4:
                self._add("verify after the end", name, ("one", 0), version=version, verify_only=True)

    def _many_transactions(self) -> None:
        """Brokers ask for several producers at once, from version 4 on."""
        if not self._brokers_may_add:
            return
        for name in ("batched-0", "batched-1"):
            self._new(name)
        first, second = (self.producers[name] for name in ("batched-0", "batched-1"))

        def part(name: str, producer: Producer, *topics: str, verify_only: bool = False) -> Any:
            asked = [AddPartitionsToTxnTopic(topic, (0,)) for topic in topics]
            return AddPartitionsToTxnTransaction(name, producer.id, producer.epoch, verify_only, asked)

        for version in (4, 5):
            for told, parts in {
                "good and bad": [part("batched-0", first, "one"), part("batched-1", second, "two", "nowhere")],
                "two good ones": [part("batched-0", first, "two"), part("batched-1", second, "two")],
                "added and verified": [
                    part("batched-0", first, "one"),
                    part("batched-1", second, "two", verify_only=True),
                ],
                "verified, and unknown": [
                    part("batched-1", second, "one", "two", verify_only=True),
                    part("nobody", second, "one", verify_only=True),
                    part("batched-0", first.later(7), "one"),
                    part("", first, "one"),
                ],
                "without topics": [part("batched-0", first), part("batched-1", second, verify_only=True)],
            }.items():
                if version in self._versions(ADD_PARTITIONS):
                    self._step(f"add for many: {told}", AddPartitionsToTxnRequest(transactions=parts), version)
        for name in ("batched-0", "batched-1"):
            self._describe("after many", name)
            self._end("after many", name, commit=False)
        self._ready("batched-0", "batched-1")

    def _ends(self) -> None:
        for version in self._versions(END):
            if version >= 5 and not self._brokers_may_add:
                continue
            for commit in (True, False):
                name = f"end-{version}-{commit}"
                self._new(name)
                for early in (True, False):
                    self._end("an empty one", name, commit=early, version=version)
                    self._ready(name)
                self._add("to be ended", name, ("one", 0), ("two", 0))
                before = self.producers[name]
                self._end("an open one", name, commit=commit, version=version)
                self._ready(name)
                for late in (commit, not commit):
                    self._end(f"after {commit=}, once more", name, commit=late, version=version, producer=before)
                    self._ready(name)
                self._describe("an ended one", name)
                self._end("with the newest epoch", name, commit=commit, version=version)
                self._ready(name)
                self._add("another one", name, ("one", 1))
                self._end("the next one", name, commit=not commit, version=version)
                self._ready(name)
                self._init("after the ends", name, None, self.producers[name])

    def _descriptions(self) -> None:
        self._new("told")
        self._add("told", "told", ("one", 0), ("one", 1), ("two", 0))
        self._asker.wait()
        self._describe("open, unknown, empty", "told", "nobody", "")
        self._describe("none")
        self._describe("one twice", "told", "told")
        for version in self._versions(66):
            self._list("open", version, state_filters=("Ongoing",))
            self._list("empty and unknown", version, state_filters=("Empty", "NoSuchState", "ongoing"))
            self._list("unknown alone", version, state_filters=("NoSuchState",))
            self._list("of a producer", version, producer_id_filters=(self.producers["told"].id, 1 << 40))
            self._list("of an unknown producer", version, producer_id_filters=(1 << 40,))
            self._list(
                "of a producer by state", version, state_filters=("Empty",),
                producer_id_filters=(self.producers["told"].id,),
            )  # fmt: skip
            if version >= 1:
                self._list("younger", version, state_filters=("Ongoing",), duration_filter=0)
                self._list("older", version, duration_filter=3_600_000)
            if version >= 2:
                for pattern in ("to.d", "", "told|data", "(", ".*old", "tol"):
                    self._list(f"by pattern {pattern}", version, transactional_id_pattern=pattern)
        self._end("told", "told")
        self._ready("told")

    def _timeouts(self) -> None:
        self._new("late", timeout_ms=600)
        self._add("late", "late", ("one", 0))
        old = self.producers["late"]
        self._produce("late", "late", b"late")
        states = DescribeTransactionsRequest(("late",))
        self._until(lambda answer: answer.transaction_states[0].transaction_state == "CompleteAbort", states, 0)
        self._describe("timed out", "late")
        for version in self._versions(ADD_PARTITIONS):
            self._add("after the timeout", "late", ("one", 0), version=version, producer=old)
        for version in self._versions(END):
            for commit in (True, False):
                self._end("after the timeout", "late", commit=commit, version=version, producer=old)
        self._produce("after the timeout", "late", b"later", sequence=1, producer=old)
        for version in self._versions(INIT):
            if version >= 3:
                self._init("after the timeout", "late", version, old)
        self._fetch("after the timeout", "one", is_committed=True)

    def _moved_coordinator(self) -> None:
        self._asker.start_other()
        moved, kept = self._id_on(1, "moved"), self._id_on(0, "kept")
        for name in (moved, kept):
            self._new(name)
        self._add("on the move", moved, ("one", 0))
        self._topics({"remote": [self._asker.other_id]})
        self._move_state(1, self._asker.other_id)
        not_coordinator = DescribeTransactionsRequest((moved,))
        self._until(lambda answer: answer.transaction_states[0].error_code == 16, not_coordinator, 0)
        for version in self._versions(INIT):
            self._init("elsewhere", moved, version)
        for version in self._versions(ADD_PARTITIONS):
            self._add("elsewhere", moved, ("one", 0), version=version)
        for version in self._versions(ADD_OFFSETS):
            self._add_offsets("elsewhere", moved, "readers", version=version)
        for version in self._versions(END):
            self._end("elsewhere", moved, version=version)
        self._describe("here and elsewhere", moved, kept)
        self._produce("elsewhere", moved, b"elsewhere", number=1)
        self._find("elsewhere", 4, 1, moved)
        self._mark("to another leader", (self.producers[kept], True, "remote", 0, 0), version=1)
        self._move_state(1, self._asker.own_id)
        self._ready(moved)
        self._describe("back again", moved)
        self._end("back again", moved)
        self._ready(moved)

    def _move_state(self, number: int, node_id: int) -> None:
        partition = ReassignablePartition(number, (node_id,))
        answer = self._asker.ask(
            AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(STATE_TOPIC, [partition])]), 0
        )
        assert answer.responses[0].partitions[0].error_code == 0, answer
        self._led_by(STATE_TOPIC, number, node_id)

    def _unfinished(self) -> None:
        """Transactions whose markers cannot be written, because a leader is gone, until its topic is deleted."""
        names = ("stuck-commit", "stuck-abort", "stuck-init", "stuck-late")
        for name in names:
            self._new(name, timeout_ms=600 if name == "stuck-late" else 60_000)
            self._init("a second epoch", name, timeout_ms=600 if name == "stuck-late" else 60_000)
        self._asker.kill_other()
        for name in names:
            self._add("stuck", name, ("remote", 0), ("three", 0))
        self._end("stuck", "stuck-commit")
        self._end("stuck", "stuck-abort", commit=False)
        self._init("stuck", "stuck-init")
        state = DescribeTransactionsRequest(("stuck-late",))
        self._until(lambda answer: answer.transaction_states[0].transaction_state == "PrepareAbort", state, 0)
        for name in names:
            self._stuck(name)
        for version in self._versions(ADD_PARTITIONS):
            self._add("stuck, more", "stuck-commit", ("one", 0), version=version)
        for version in self._versions(ADD_OFFSETS):
            self._add_offsets("stuck, more", "stuck-commit", "readers", version=version)
        self._list("stuck", state_filters=("PrepareCommit", "PrepareAbort", "PrepareEpochFence"))
        answer = self._asker.ask(DeleteTopicsRequest(topic_names=["remote"], timeout_ms=30_000), 5)
        assert answer.responses[0].error_code == 0, answer
        self._ready(*names)
        for name in names:
            self._describe("no longer stuck", name)
            self._init("no longer stuck", name)

    def _stuck(self, name: str) -> None:
        self._describe("stuck", name)
        for version in self._versions(END):
            for commit in (True, False):
                self._end("stuck, again", name, commit=commit, version=version)
        for version in self._versions(INIT):
            self._init("stuck, again", name, version)
            if version >= 3:
                self._init("stuck, again, its producer", name, version, self.producers[name])
        self._asked_badly("a stuck transaction", name)

    def _rights(self) -> None:
        """Without rights. At last the brokers themselves have none."""
        for name in ("guarded", "described", "allowed"):
            self._new(name)
        self._allow("User:somebody", _ALL, (_TRANSACTIONAL_ID, "guarded"), (_TOPIC, "two"), (_GROUP, "guarded"))
        self._allow("User:ANONYMOUS", _DESCRIBE, (_TRANSACTIONAL_ID, "described"))
        guarded = DescribeTransactionsRequest(("guarded",))
        self._until(lambda answer: answer.transaction_states[0].error_code == _UNAUTHORIZED_ID, guarded, 0)
        for name in ("guarded", "described"):
            self._no_rights_to(name)
        self._describe("no rights", "guarded", "described", "allowed")
        self._list("no rights", state_filters=("Empty",), producer_id_filters=tuple(
            self.producers[name].id for name in ("guarded", "described", "allowed")
        ))  # fmt: skip
        for version in self._adding_versions():
            self._add("no rights to a topic", "allowed", ("one", 0), ("two", 0), version=version)
            self._add(
                "no rights to a topic, one that is unknown", "allowed", ("nowhere", 0), ("two", 0), version=version
            )
        for version in self._versions(ADD_OFFSETS):
            self._add_offsets("no rights to a group", "allowed", "guarded", version=version)
        for version in self._versions(OFFSETS):
            if version >= 5 and not self._brokers_may_add:
                continue
            self._commit_offsets("no rights to a group", "allowed", "guarded", version=version)
            self._commit_offsets("no rights to a topic", "allowed", "readers", "one", "two", version=version)
        self._produce("no rights to a topic", "allowed", b"n", topic="two")
        self._rights_of_brokers()

    def _no_rights_to(self, name: str) -> None:
        for version in self._versions(10):
            if version:
                self._find(f"no rights to {name}", version, 1, name)
        for version in self._versions(INIT):
            self._init("no rights", name, version)
        for version in self._adding_versions():
            self._add(f"no rights to {name}", name, ("one", 0), version=version)
        for version in self._versions(ADD_OFFSETS):
            self._add_offsets(f"no rights to {name}", name, "readers", version=version)
        for version in self._versions(OFFSETS):
            self._commit_offsets(f"no rights to {name}", name, "readers", version=version)
        for version in self._versions(END):
            self._end(f"no rights to {name}", name, version=version)
        self._produce(f"no rights to {name}", name, b"n")

    def _rights_of_brokers(self) -> None:
        """Peers without CLUSTER_ACTION. The broker itself is one then, so it forwards no more changes."""
        producer = self.producers["allowed"]
        transaction = AddPartitionsToTxnTransaction("allowed", producer.id, producer.epoch, verify_only=True)
        # Some releases let ALTER write markers, too.
        principal, operation = ("User:ANONYMOUS", _ALTER) if self._level == 1 else ("User:somebody", _ALL)
        self._allow(principal, operation, (_CLUSTER, "kafka-cluster"))
        self._until(
            lambda answer: answer.error_code == _UNAUTHORIZED_CLUSTER,
            AddPartitionsToTxnRequest(transactions=[transaction]),
            4,
        )
        for version in self._versions(MARKERS):
            self._mark("of a peer without rights", (producer, True, "one", 0, 0), version=version)
        for version in self._versions(ADD_PARTITIONS):
            self._add("of a peer without rights", "allowed", ("one", 0), version=version)
        for version in self._versions(INIT):
            self._step("init: idempotent, without rights", InitProducerIdRequest(None), version)

    def _allow(self, principal: str, operation: int, *resources: tuple[int, str]) -> None:
        creations = [AclCreation(kind, name, 3, principal, "*", operation, 3) for kind, name in resources]
        answer = self._asker.ask(CreateAclsRequest(creations), 2)
        assert {each.error_code for each in answer.results} == {0}, answer
