"""Checkers of levels and connections, each with what it must not let pass."""

from types import SimpleNamespace

import pytest

from falkirk.metadata.image.metadata_delta import MetadataDelta
from falkirk.metadata.image.metadata_image import EMPTY, Provenance
from falkirk.protocol.codec import encode
from falkirk.protocol.connection import Connection, Role
from falkirk.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FeatureLevelRecord,
    MetadataRequest,
    MetadataResponse,
    PartitionRecord,
    TopicRecord,
)
from falkirk.protocol.messages.api_versions_response import ApiVersion, FinalizedFeatureKey
from falkirk.protocol.offset_and_epoch import OffsetAndEpoch
from falkirk.simulation.checkers.answers_were_negotiated import AnswersWereNegotiated
from falkirk.simulation.checkers.eligible_replicas_fit import EligibleReplicasFit
from falkirk.simulation.checkers.lowered_logs_begin_behind import LoweredLogsBeginBehind
from falkirk.simulation.checkers.lowerings_are_reported import LoweringsAreReported
from falkirk.simulation.checkers.reported_epoch_never_falls import ReportedEpochNeverFalls
from falkirk.simulation.history.feature_history import FeatureHistory
from falkirk.simulation.history.invariant import InvariantViolatedError
from falkirk.simulation.history.write_history import Register
from falkirk.simulation.machine.wire_watch import Conversation, WireWatch
from falkirk.simulation.views.level_watch import LevelChange, LevelWatch
from falkirk.simulation.views.marks import Marks
from falkirk.versions.metadata_version import MetadataVersion

LOW, HIGH = MetadataVersion.parse("3.9"), MetadataVersion.parse("4.3")
LOSS = SimpleNamespace(key_text="ACL of ann")


def levels(*losses) -> LevelWatch:
    watch = LevelWatch()
    watch.changes.append(LevelChange(20, HIGH, LOW, losses))
    return watch


def replica(*, start: int, snapshot: int | None) -> SimpleNamespace:
    latest = None if snapshot is None else OffsetAndEpoch(snapshot, 1)
    return SimpleNamespace(log=SimpleNamespace(start_offset=start, latest_snapshot=latest), image=EMPTY)


def test_a_log_that_begins_before_a_lowering_or_without_a_snapshot_behind_it_is_told():
    checker = LoweredLogsBeginBehind(levels())
    checker.at_end({1: replica(start=20, snapshot=20), 2: replica(start=25, snapshot=30)})
    with pytest.raises(InvariantViolatedError, match="node 1 begins at 19"):
        checker.at_end({1: replica(start=19, snapshot=20)})
    with pytest.raises(InvariantViolatedError, match="node 1 has no snapshot"):
        checker.at_end({1: replica(start=20, snapshot=None)})


TOPIC_ID = bytes(15) + b"\x09"


def with_partition(*, isr, leader, eligible=(), last_known=(), is_enabled=True) -> SimpleNamespace:
    """A node with one partition of brokers 1 to 3."""
    delta = MetadataDelta(EMPTY)
    delta.replay(FeatureLevelRecord("metadata.version", HIGH.level))
    delta.replay(FeatureLevelRecord("eligible.leader.replicas.version", int(is_enabled)))
    delta.replay(TopicRecord("orders", TOPIC_ID))
    delta.replay(
        PartitionRecord(
            0, TOPIC_ID, (1, 2, 3), isr, leader=leader, eligible_leader_replicas=eligible, last_known_elr=last_known
        )
    )
    return SimpleNamespace(node_id=1, image=delta.apply(Provenance(9, 1, 0)))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"isr": (1,), "leader": 1, "eligible": (2,), "is_enabled": False}, "the feature is off"),
        ({"isr": (), "leader": -1, "last_known": (1,), "is_enabled": False}, "the feature is off"),
        ({"isr": (1, 2), "leader": 1, "eligible": (2,)}, "not different replicas"),
        ({"isr": (1,), "leader": 1, "eligible": (4,)}, "not different replicas"),
        ({"isr": (1,), "leader": 2, "eligible": (2,)}, "its leader is not in sync"),
    ],
)
def test_replicas_that_cannot_be_eligible_are_told(fields, problem):
    marks = Marks()
    checker = EligibleReplicasFit(marks)
    checker.after_step(with_partition(isr=(1,), leader=1, eligible=(2, 3), last_known=()))
    assert marks.counts["replica eligible to lead"] == 1
    with pytest.raises(InvariantViolatedError, match=problem):
        checker.after_step(with_partition(**fields))


def test_replicas_that_stay_eligible_when_the_feature_is_switched_off_are_told():
    checker = EligibleReplicasFit(Marks())
    node = with_partition(isr=(1,), leader=1, eligible=(2,))
    checker.after_step(node)
    delta = MetadataDelta(node.image)
    delta.replay(FeatureLevelRecord("eligible.leader.replicas.version", 0))
    node.image = delta.apply(Provenance(10, 1, 0))
    with pytest.raises(InvariantViolatedError, match="the feature is off"):
        checker.after_step(node)


def test_a_level_that_nobody_asked_for_is_told():
    checker = LoweringsAreReported(levels(), FeatureHistory(Register(values=[HIGH.level])))
    with pytest.raises(InvariantViolatedError, match=r"3\.9-IV0 at offset 20 was not requested"):
        checker.at_end({})


def test_a_loss_that_nobody_agreed_to_is_told():
    history = FeatureHistory(Register(values=[LOW.level]))
    LoweringsAreReported(levels(), history).at_end({})
    with pytest.raises(InvariantViolatedError, match=r"SAFE to 3\.9-IV0 lost"):
        LoweringsAreReported(levels(LOSS), history).at_end({})
    history.unsafe.add(LOW.level)
    LoweringsAreReported(levels(LOSS), history).at_end({})


def test_a_loss_that_is_not_in_the_ledger_is_told():
    details = SimpleNamespace(losses=[], undo_bundle="there")
    said_yes = SimpleNamespace(to=LOW, is_dry_run=False, message="", details=details)
    history = FeatureHistory(Register(values=[LOW.level]), unsafe={LOW.level}, answers=[said_yes])
    with pytest.raises(InvariantViolatedError, match="which no response reported"):
        LoweringsAreReported(levels(LOSS), history).at_end({})
    details.losses.append({"key": "ACL of ann"})
    LoweringsAreReported(levels(LOSS), history).at_end({})


def test_who_asks_again_since_the_answer_died_with_its_leader_is_told_nothing():
    details = SimpleNamespace(losses=[], undo_bundle=None)
    said_yes = SimpleNamespace(to=LOW, is_dry_run=False, message="", details=details)
    history = FeatureHistory(Register(values=[LOW.level]), unsafe={LOW.level}, answers=[said_yes])
    LoweringsAreReported(levels(LOSS), history).at_end({})


class Talk:
    """A client and a server, read along by a checker; bytes go one by one."""

    def __init__(self, *checkers) -> None:
        self.watch = WireWatch(checkers)
        self.conversation = Conversation("client", ("controller-1", "PLAINTEXT"))
        self.client = Connection(role=Role.CLIENT, client_id="client")

    def ask(self, request, version, response) -> None:
        self.send(request, version)
        self.answer(response, version)

    def send(self, request, version) -> None:
        self.correlation_id, data = self.client.send_request(request, version)
        for byte in data:
            self.watch.sent(self.conversation, bytes([byte]), is_request=True)

    def answer(self, response, version) -> None:
        body = encode(response, version)
        head = self.correlation_id.to_bytes(4)
        if not isinstance(response, ApiVersionsResponse) and version >= 9:
            head += b"\0"
        self.watch.sent(self.conversation, (len(head) + len(body)).to_bytes(4) + head + body, is_request=False)

    def negotiate(self, highest: int, epoch: int = -1, level: int = 21) -> None:
        response = ApiVersionsResponse(
            api_keys=[ApiVersion(3, 4, highest)],
            finalized_features_epoch=epoch,
            finalized_features=[FinalizedFeatureKey("metadata.version", level, level)],
        )
        self.ask(ApiVersionsRequest(), 3, response)


def test_an_answer_in_a_version_that_was_not_offered_is_told():
    talk = Talk(AnswersWereNegotiated())
    with pytest.raises(InvariantViolatedError, match="offered was nothing"):
        talk.ask(MetadataRequest(), 8, MetadataResponse())
    talk.negotiate(8)
    talk.ask(MetadataRequest(), 8, MetadataResponse())
    with pytest.raises(InvariantViolatedError, match="version 9 of API 3, offered was 4 to 8"):
        talk.ask(MetadataRequest(), 9, MetadataResponse())
    talk.negotiate(9)
    talk.ask(MetadataRequest(), 9, MetadataResponse())


def test_an_epoch_that_falls_or_has_other_levels_is_told():
    directory_ids = {1: b"1" * 16}
    checker = ReportedEpochNeverFalls(directory_ids)
    Talk(checker).negotiate(8, epoch=7)
    Talk(checker).negotiate(8, epoch=-1)
    Talk(checker).negotiate(8, epoch=9)
    with pytest.raises(InvariantViolatedError, match="tells epoch 8, it told 9"):
        Talk(checker).negotiate(8, epoch=8)
    with pytest.raises(InvariantViolatedError, match="in epoch 9"):
        Talk(checker).negotiate(8, epoch=9, level=20)
    directory_ids[1] = b"2" * 16  # a new disk
    Talk(checker).negotiate(8, epoch=8)


def test_a_response_that_waited_behind_others_may_have_an_older_epoch():
    checker = ReportedEpochNeverFalls({1: b"1" * 16})
    first, second = Talk(checker), Talk(checker)
    first.send(ApiVersionsRequest(), 3)
    second.negotiate(8, epoch=9)
    first.answer(ApiVersionsResponse(finalized_features_epoch=8), 3)
    with pytest.raises(InvariantViolatedError, match="tells epoch 8, it told 9"):
        first.negotiate(8, epoch=8)
