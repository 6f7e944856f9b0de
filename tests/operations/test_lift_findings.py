from dataclasses import replace

import pytest
from metadata_images import TOPIC_ID, image_of

from falkirk.client.cluster_description import ClusterNode
from falkirk.client.errors import ConnectionFailedError
from falkirk.client.node_configs import TopicLayout
from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.ledger.findings import BlockerKind, WarningKind
from falkirk.ledger.reported_group import ReportedGroup
from falkirk.logdir.target import parse_target
from falkirk.operations import lift_findings as findings
from falkirk.operations.errors import OperationError
from falkirk.operations.lift_check import check_lift
from falkirk.operations.lift_observation import METADATA, Observation, Unseen
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import PartitionRecord, RegisterBrokerRecord, RegisterControllerRecord, TopicRecord
from falkirk.protocol.messages.register_broker_record import BrokerFeature
from falkirk.protocol.messages.register_controller_record import ControllerFeature
from falkirk.protocol.schema import ZERO_UUID
from falkirk.versions.features import FALKIRK_DOWNGRADE
from falkirk.versions.supported_range import SupportedRange

TARGET = parse_target("3.9")
GONE = ConnectionFailedError(Endpoint("gone", 1), "cannot connect")
HERE = Endpoint("here", 9093)
ANSWER = NodeVersions(
    api_ranges={},
    supported_features={"metadata.version": SupportedRange(7, 30), "kraft.version": SupportedRange(0, 1)},
    finalized_features={
        "metadata.version": FinalizedVersionRange(30, 30),
        "kraft.version": FinalizedVersionRange(1, 1),
    },
    finalized_features_epoch=9,
)


def replica(node_id):
    return ReplicaState(
        node_id=node_id,
        directory_id=ZERO_UUID,
        log_end_offset=10,
        last_fetch_timestamp=None,
        last_caught_up_timestamp=None,
    )


QUORUM = QuorumDescription(
    leader_id=1,
    leader_epoch=3,
    high_watermark=10,
    voter_states=(replica(1),),
    observer_states=(replica(2),),
    voter_listeners={1: {"CONTROLLER": HERE}},
)
SEEN = Observation(
    cluster_id="c",
    bootstrap=(Endpoint("two", 9092),),
    brokers=(ClusterNode(node_id=2, endpoint=Endpoint("two", 9092)),),
    controllers=(ClusterNode(node_id=1, endpoint=HERE),),
    quorum=QUORUM,
    answers={1: ANSWER, 2: ANSWER},
)


def image(*records):
    return image_of(TopicRecord("t", TOPIC_ID), *records, level=30)


def partition(number, replicas, isr):
    return PartitionRecord(number, TOPIC_ID, replicas, isr, leader=isr[0] if isr else -1)


def test_what_the_nodes_report_and_the_log_has_otherwise_is_in_the_way():
    read = image(partition(0, [1, 2], [1]), partition(1, [2], [2]))
    levels = replace(ANSWER, finalized_features={"metadata.version": FinalizedVersionRange(30, 30)})
    same = TopicLayout(topic_id=TOPIC_ID, replicas={0: (1, 2), 1: (2,)})

    def differing(answer=levels, **topics):
        found = findings.image_differences(read, replace(SEEN, topics=topics, answers={1: answer}))
        return [what for each in found for what in each.fields["what"]]

    assert differing() == differing(t=same) == differing(t=replace(same, topic_id=ZERO_UUID)) == []
    assert differing(t=replace(same, topic_id=bytes(15) + b"9")) == ["topic t"]
    assert differing(t=replace(same, replicas={0: (2, 1), 1: (2,)})) == ["topic t"]
    assert differing(t=replace(same, replicas={0: (1, 2)})) == ["topic t"]
    assert differing(t=same, u=same) == ["topic u"]
    lower = {"metadata.version": FinalizedVersionRange(29, 29), "kraft.version": FinalizedVersionRange(1, 1)}
    assert differing(replace(levels, finalized_features=lower)) == ["feature metadata.version"]
    assert differing(replace(levels, finalized_features={"group.version": FinalizedVersionRange(1, 1)})) == [
        "feature group.version"
    ]
    many = {f"u{number}": same for number in range(findings.SHOWN_DIFFERENCES + 3)}
    [blocker] = findings.image_differences(read, replace(SEEN, topics=many))
    assert (blocker.kind, blocker.fields["count"]) == (BlockerKind.IMAGE_DIFFERS, len(many))
    assert " and 3 more: it was changed meanwhile" in blocker.text


def test_partitions_below_their_full_isr_are_one_blocker_that_counts_them():
    lacking = findings.lacking_in(image(partition(0, [1, 2], [1]), partition(1, [1], [1]), partition(2, [1, 2], [])))
    [blocker] = findings.isr_blockers(lacking)
    assert blocker.kind is BlockerKind.BELOW_FULL_ISR
    assert blocker.fields["count"] == 2
    assert blocker.fields["partitions"][1] == {"partition": "t-2", "replicas": [1, 2], "isr": []}
    assert blocker.text.startswith("t-0 and 1 more: ISR [1] of replicas [1, 2]")
    assert list(findings.isr_blockers(findings.lacking_in(image(partition(0, [1, 2], [2, 1]))))) == []


def test_a_node_in_service_that_is_silent_is_in_the_way_and_a_fenced_broker_is_a_ghost():
    fenced = ClusterNode(node_id=3, endpoint=Endpoint("three", 1), is_fenced=True)
    seen = replace(SEEN, brokers=(*SEEN.brokers, fenced), answers={1: ANSWER, 2: GONE, 3: GONE})
    blocker, warning = findings.silent_nodes(seen)
    assert (blocker.kind, blocker.fields["node_id"]) == (BlockerKind.SILENT_NODE, 2)
    assert "gone:1: cannot connect" in blocker.text
    assert (warning.kind, warning.fields["node_id"]) == (WarningKind.GHOST_BROKER, 3)
    assert list(findings.silent_nodes(SEEN)) == []


def test_a_controller_that_is_registered_and_neither_votes_nor_observes_is_a_ghost_with_its_levels():
    def registered(node_id):
        return RegisterControllerRecord(node_id, bytes(16), features=[ControllerFeature("metadata.version", 7, 29)])

    [ghost] = findings.ghost_controllers(image(registered(1), registered(2), registered(101)), QUORUM)
    assert (ghost.kind, ghost.fields) == (
        WarningKind.GHOST_CONTROLLER,
        {"node_id": 101, "min_supported": 7, "max_supported": 29},
    )
    assert ghost.text.endswith("Its highest metadata.version is 4.2-IV1")


@pytest.mark.parametrize(("registered", "is_named"), [(29, True), (30, False), (31, True)])
def test_a_controller_that_is_registered_with_other_levels_than_it_has_is_named(registered, is_named):
    """The registration of its last start is still there: the next upgrade would be decided by it."""
    record = RegisterControllerRecord(1, bytes(16), features=[ControllerFeature("metadata.version", 7, registered)])
    found = list(findings.stale_registrations(image(record), SEEN))
    assert [(each.kind, each.fields) for each in found] == [
        (WarningKind.STALE_REGISTRATION, {"node_id": 1, "registered": registered, "max_supported": 30})
    ] * is_named
    silent = replace(SEEN, answers={1: GONE, 2: ANSWER})
    assert list(findings.stale_registrations(image(record), silent)) == []


def test_a_voter_that_is_not_registered_is_in_the_way():
    registered = image(RegisterControllerRecord(1, bytes(16), features=[]))
    assert list(findings.unregistered_voters(registered, SEEN)) == []
    [blocker] = findings.unregistered_voters(image(), SEEN)
    assert (blocker.kind, blocker.fields) == (BlockerKind.UNREGISTERED_VOTER, {"node_id": 1})
    assert "falkirk's of another lift, which has to be ended first" in blocker.text


def test_falkirk_in_place_of_a_registered_controller_is_another_lift():
    """It does not register; a controller of falkirk's that stays does, and is none."""
    ours = {**ANSWER.supported_features, FALKIRK_DOWNGRADE: SupportedRange(0, 1)}
    seen = replace(SEEN, answers={**SEEN.answers, 1: replace(ANSWER, supported_features=ours)})
    of_kafka = image(RegisterControllerRecord(1, bytes(16), features=[]))
    [blocker] = findings.unregistered_voters(of_kafka, seen)
    assert (blocker.kind, blocker.fields) == (BlockerKind.UNREGISTERED_VOTER, {"node_id": 1})
    assert "voter 1 is falkirk in place of the controller that is registered: another lift is under way" in blocker.text
    own = RegisterControllerRecord(1, bytes(16), features=[ControllerFeature(FALKIRK_DOWNGRADE, 0, 1)])
    assert list(findings.unregistered_voters(image(own), seen)) == []


def test_a_node_that_does_not_support_the_level_is_in_the_way():
    def broker(lowest):
        return RegisterBrokerRecord(1, features=[BrokerFeature("metadata.version", lowest, 30)])

    assert list(findings.unsupporting_nodes(image(broker(21)), TARGET)) == []
    [blocker] = findings.unsupporting_nodes(image(broker(22)), TARGET)
    assert blocker.text == "broker 1 supports 4.0-IV0 to 4.3-IV0, not 3.9-IV0"


@pytest.mark.parametrize(
    ("change", "is_named"),
    [({}, True), ({"members": 0}, False), ({"type": "classic"}, False), ({"verdict": "readable"}, False)],
)
def test_members_whose_protocol_goes_are_named_before(change, is_named):
    fields = {
        "group": "g",
        "type": "consumer",
        "partition": 0,
        "members": 3,
        "committed_offsets": 1,
        "pending_offsets": 0,
        "verdict": "appears empty",
        "lost": {},
        "detail": "",
    }
    found = list(findings.refused_members([ReportedGroup(**(fields | change))]))
    assert [each.fields["members"] for each in found] == ([3] if is_named else [])


OF_FALKIRK = replace(ANSWER, supported_features={"falkirk.downgrade": SupportedRange(0, 1)})


@pytest.mark.parametrize(
    ("ids", "after", "answer", "is_named"),
    [
        (("payer",), {}, ANSWER, True),
        ((), {}, ANSWER, False),
        (("payer",), {"transaction.version": 1}, ANSWER, False),
        (("payer",), {}, OF_FALKIRK, False),
        (("payer",), {}, GONE, False),
    ],
    ids=["used", "unused", "kept", "falkirk", "silent"],
)
def test_ids_whose_state_kafkas_brokers_cannot_write_at_the_lower_level_are_named(ids, after, answer, is_named):
    seen = replace(SEEN, answers={1: ANSWER, 2: answer})
    found = list(findings.stuck_producers(seen, ids, after, TARGET.release))
    assert [each.fields for each in found] == ([{"transactional_ids": ["payer"], "count": 1}] if is_named else [])
    wait = "CONCURRENT_TRANSACTIONS until the broker that coordinates it runs Kafka 3.9"
    assert all(wait in each.text for each in found)


def test_of_many_ids_the_first_are_named():
    ids = tuple(f"id-{number:02}" for number in range(findings.SHOWN_IDS + 5))
    [warning] = findings.stuck_producers(SEEN, ids, {}, TARGET.release)
    assert (len(warning.fields["transactional_ids"]), warning.fields["count"]) == (findings.SHOWN_IDS, len(ids))
    assert "id-19 and 5 more: after" in warning.text


def test_a_voter_at_no_bootstrap_server_of_a_node_is_named():
    def seen(servers):
        return replace(SEEN, configs={2: {"controller.quorum.bootstrap.servers": servers}})

    assert list(findings.voters_at_bootstrap(seen("other:1, here:9093"))) == []
    [warning] = findings.voters_at_bootstrap(seen("other:1"))
    assert warning.text.startswith("voter 1 listens at here:9093, which is not in controller.quorum.bootstrap.servers")


def test_the_layout_is_what_nodes_report():
    configs = {1: {"controller.quorum.auto.join.enable": "true"}}
    layout = findings.quorum_layout(replace(SEEN, configs=configs), kraft_version=1, keeps_dynamic=True)
    assert (layout.voters, layout.combined, layout.can_be_dynamic, layout.auto_joining) == ((1,), set(), True, {1})
    assert not layout.lowers_itself
    ours = replace(ANSWER, supported_features={"falkirk.downgrade": SupportedRange(0, 1)})
    assert findings.quorum_layout(replace(SEEN, answers={1: ours}), kraft_version=1, keeps_dynamic=True).lowers_itself
    old = replace(ANSWER, supported_features={"metadata.version": SupportedRange(1, 25)})
    layout = findings.quorum_layout(replace(SEEN, answers={1: old}), kraft_version=0, keeps_dynamic=True)
    assert not layout.can_be_dynamic


def test_without_the_metadata_log_the_check_is_blocked_and_says_what_it_needs():
    unseen = Unseen(what=METADATA, reason="here:9093: Fetch: CLUSTER_AUTHORIZATION_FAILED", needs="CLUSTER_ACTION")
    found = check_lift(replace(SEEN, unseen=(unseen,)), None, TARGET)
    assert [each.kind for each in found.blockers] == [BlockerKind.INCOMPLETE_METADATA]
    assert found.blockers[0].text.endswith("CLUSTER_AUTHORIZATION_FAILED (needs CLUSTER_ACTION)")
    assert (found.is_lossless, found.as_json()["lossless"], found.as_json()["ledger"]) == (False, None, None)
    assert found.as_json()["from"] == {"level": 30, "name": "4.3-IV0"}


def test_dynamic_voters_do_not_go_where_there_are_none():
    found = check_lift(SEEN, None, parse_target("3.8"))
    assert BlockerKind.NO_WAY in {each.kind for each in found.blockers}
    assert "kraft.version is not lowered on a running cluster" in found.blockers[-1].text
    assert found.way.possible == ()


def test_a_target_that_is_not_below_the_level_is_refused():
    with pytest.raises(OperationError, match=r"metadata\.version is 4\.3-IV0, and 4\.3-IV0 is not below it"):
        check_lift(SEEN, None, parse_target("4.3"))


def test_a_class_that_falkirk_has_not_is_in_the_way_until_it_is_accepted():
    configs = {1: {"create.topic.policy.class.name": "x.Policy"}, 2: {"create.topic.policy.class.name": "x.Policy"}}
    seen = replace(SEEN, configs=configs)
    kinds = [(each.kind, each.fields.get("where")) for each in check_lift(seen, None, TARGET).blockers]
    # Of brokers falkirk takes no place.
    assert kinds[0] == (BlockerKind.UNSUPPORTED_CONFIG, "node 1")
    assert len(kinds) == 2
    accepted = check_lift(seen, None, TARGET, accepted=["create.topic.policy.class.name"]).blockers
    assert [each.kind for each in accepted] == [BlockerKind.INCOMPLETE_METADATA]
