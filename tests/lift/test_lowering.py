"""The lowering is sent to falkirk's controller, which no node lists, until it decides."""

import asyncio

import msgspec
from fake_node import FakeNode
from feature_servers import NEW, feature_answer
from lift_fakes import HIGH, LOW, UNREACHABLE, FakeBrokers, FakeQuorum, lifted_cluster

from falkirk.client.config import ClientConfig
from falkirk.client.errors import ClientError
from falkirk.lift.errors import LiftError
from falkirk.lift.lift_file import LiftFile, Place
from falkirk.lift.lowering import Lowering
from falkirk.logdir.target import parse_target
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import FeatureUpdateDetails, allows_aborts, encode_details
from falkirk.protocol.messages import DescribeClusterResponse, DescribeQuorumResponse, UpdateFeaturesResponse
from falkirk.protocol.messages.describe_quorum_response import PartitionData, ReplicaState, TopicData
from falkirk.protocol.upgrade_type import UpgradeType

FILE = LiftFile(
    bootstrap_servers=["kafka:9092"],
    target="3.9",
    place=Place(node_id=9001, listener="lift:9093", directory="/lift"),
)
CONTROLLERS = 2
# How often the leader does not know its level yet.
UNKNOWN = 3


NOT_ENDED = "transaction-not-ended"
OPEN = "the words are a person's"


def lower(answers, accepted=(), cluster=None, is_whole=None):
    """Lower the level by a controller that answers UpdateFeatures in this order; return what it was sent."""
    cluster = cluster or lifted_cluster(FakeQuorum(), FakeBrokers())
    updates, answers = [], iter(answers)
    low, high = {"metadata.version": LOW}, {"metadata.version": HIGH, "transaction.version": 2}

    def answer(received):
        match received.api_key:
            case 18:
                return feature_answer(1, {name: (0, level) for name, level in (low | high).items()}, high)
            case 55:
                partition = PartitionData(leader_id=9001, current_voters=[ReplicaState(9001)])
                return DescribeQuorumResponse(topics=[TopicData("__cluster_metadata", [partition])])
            case 60 if received.message().endpoint_type == CONTROLLERS:
                return DescribeClusterResponse(cluster_id="c", controller_id=-1)
            case 60:
                return DescribeClusterResponse(error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE)
        updates.append(received.message())
        return next(answers)

    async def story():
        async with FakeNode(NEW, answer) as node:

            async def leader():
                return node.endpoint

            file = msgspec.structs.replace(FILE, accept_losses=list(accepted))
            lowering = Lowering(
                file, parse_target("3.9"), cluster, leader=leader, config=ClientConfig(), is_whole=is_whole
            )
            await lowering.steps()[0].act()

    try:
        asyncio.run(story())
    except (LiftError, ClientError) as error:
        return updates, str(error)
    return updates, None


def refused(error_code, message, *kinds, blocker=None):
    losses = [{"kind": kind, "detail": f"{kind} of t"} for kind in kinds]
    blockers = [{"kind": blocker, "text": "t"}] if blocker else []
    details = encode_details(FeatureUpdateDetails(losses=losses, blockers=blockers)) if kinds or blockers else ()
    return UpdateFeaturesResponse(error_code=error_code, error_message=message, unknown_tagged_fields=details)


def test_a_leader_that_does_not_decide_yet_is_asked_again():
    undecided = UpdateFeaturesResponse(error_code=ErrorCode.NOT_CONTROLLER)
    updates, error = lower([undecided, UpdateFeaturesResponse(), UpdateFeaturesResponse()])
    assert [each.validate_only for each in updates] == [True, True, False]
    assert error is None


def test_the_level_is_lowered_only_when_all_partitions_are_in_sync(polls_at_once):
    answers = iter([False, UNREACHABLE, True])

    async def is_whole():
        found = next(answers)
        if found is UNREACHABLE:
            raise UNREACHABLE
        return found

    updates, failure = lower([refused(ErrorCode.NONE, None), refused(ErrorCode.NONE, None)], is_whole=is_whole)
    assert next(answers, None) is None, "each was taken"
    assert (len(updates), failure) == (2, None)


def test_what_does_not_come_back_to_its_isr_ends_the_step(polls_at_once):
    async def is_whole():
        return False

    updates, failure = lower([], is_whole=is_whole)
    assert updates == []
    assert failure.endswith(": all nodes answer, and all partitions are in sync")


def test_open_transactions_may_end_and_are_aborted_then_if_that_is_accepted():
    lossy = refused(ErrorCode.INVALID_UPDATE_VERSION, "it would cut off what is in use", "open_transaction")
    late = refused(ErrorCode.REQUEST_TIMED_OUT, OPEN, blocker=NOT_ENDED)
    updates, error = lower([lossy, late, UpdateFeaturesResponse()], accepted=["open_transaction"])
    _, waiting, aborting = updates
    assert error is None
    assert [allows_aborts(each.unknown_tagged_fields) for each in updates] == [False, False, True]
    assert waiting.timeout_ms < aborting.timeout_ms
    assert {each.upgrade_type for each in aborting.feature_updates} == {UpgradeType.UNSAFE_DOWNGRADE}


def test_open_transactions_that_do_not_end_are_named_with_what_to_do_and_never_aborted():
    lossy = refused(ErrorCode.INVALID_UPDATE_VERSION, "it would cut off what is in use", "consumer_group")
    updates, error = lower(
        [lossy, refused(ErrorCode.REQUEST_TIMED_OUT, OPEN, blocker=NOT_ENDED)], accepted=["consumer_group"]
    )
    assert not any(allows_aborts(each.unknown_tagged_fields) for each in updates)
    assert error == (
        f"the level was not lowered: {OPEN}. End them and begin a new lift, or name open_transaction in "
        "accept_losses: then those that stay open are aborted"
    )


def test_a_controller_that_needs_longer_itself_is_asked_again_and_no_transaction_is_aborted():
    lossy = refused(ErrorCode.INVALID_UPDATE_VERSION, "it would cut off what is in use", "open_transaction")
    # Words decide nothing.
    slow = refused(ErrorCode.REQUEST_TIMED_OUT, "Open transactions have not ended in time: or so it seems.")
    updates, error = lower([lossy, slow, UpdateFeaturesResponse()], accepted=["open_transaction"])
    _, hasty, patient = updates
    assert error is None
    assert not any(allows_aborts(each.unknown_tagged_fields) for each in updates)
    assert hasty.timeout_ms < patient.timeout_ms


def test_losses_that_were_not_there_at_the_check_are_named():
    lossy = refused(ErrorCode.INVALID_UPDATE_VERSION, "it would lose", "consumer_group", "not_read")
    _, error = lower([lossy], accepted=["consumer_group"])
    assert error == (
        "the level was not lowered: it would lose not_read, which accept_losses does not name, such as not_read of t "
        "(2 losses in all; `falkirk lift check` lists them)"
    )


def test_a_controller_that_ends_with_its_answer_is_started_again_before_anybody_waits_for_its_level():
    quorum = FakeQuorum(level=LOW, leader_id=None)
    # Brokers that lost their controller report what was before.
    cluster = lifted_cluster(quorum, FakeBrokers(level=HIGH))
    revived = []

    async def revive():
        revived.append(9)
        quorum.leader_id = 9

    cluster.revive = revive
    _, error = lower([UpdateFeaturesResponse(), UpdateFeaturesResponse()], cluster=cluster)
    assert (error, revived) == (None, [9])


def test_a_leader_that_has_not_loaded_its_image_is_waited_for():
    quorum = FakeQuorum()
    asked, asked_before = [], []

    async def finalized_level():
        asked.append(len(asked))
        return HIGH if len(asked) > UNKNOWN else None

    def answers():
        for _ in range(2):
            asked_before.append(len(asked))
            yield UpdateFeaturesResponse()

    quorum.finalized_level = finalized_level
    _, error = lower(answers(), cluster=lifted_cluster(quorum, FakeBrokers(level=None)))
    assert error is None
    assert asked_before[0] > UNKNOWN
