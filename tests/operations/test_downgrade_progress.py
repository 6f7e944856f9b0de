from dataclasses import replace

from falkirk.client.errors import ConnectionFailedError
from falkirk.client.feature_update import FeatureUpdate
from falkirk.client.node_versions import FinalizedVersionRange, NodeVersions
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.operations.downgrade_progress import ClusterAnswers, WantedChange
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.metadata_progress_tags import MetadataProgress
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.upgrade_type import UpgradeType

WANTED = WantedChange(updates={"metadata.version": FeatureUpdate(21, UpgradeType.SAFE_DOWNGRADE)}, end_offset=10)
GONE = ConnectionFailedError(Endpoint("gone", 1), "cannot connect")
REAL = NodeVersions(
    api_ranges={},
    supported_features={},
    finalized_features={"metadata.version": FinalizedVersionRange(21, 21)},
    finalized_features_epoch=9,
)


def ask(answers, *, voters=None, observers=None, listed=(), fenced=(), answered_before=()):
    quorum = QuorumDescription(
        leader_id=1,
        leader_epoch=1,
        high_watermark=10,
        voter_states=replicas(voters or {1: 10}),
        observer_states=replicas(observers or {}),
        voter_listeners={},
    )
    return ClusterAnswers(quorum=quorum, listed=listed, fenced=fenced, answers=answers, answered_before=answered_before)


def replicas(end_offsets):
    return tuple(
        ReplicaState(
            node_id=node_id,
            directory_id=ZERO_UUID,
            log_end_offset=end_offset,
            last_fetch_timestamp=None,
            last_caught_up_timestamp=None,
        )
        for node_id, end_offset in end_offsets.items()
    )


OURS = replace(
    REAL,
    metadata_progress=MetadataProgress(
        snapshot_end_offset=12,
        snapshot_metadata_version=21,
        log_start_offset=12,
        applied_offset=15,
        holds_lowering=False,
    ),
)


def test_a_node_of_kafkas_has_the_snapshot_when_its_log_ends_behind_the_leaders():
    for end, lacks in ((11, ("observer 5 has the metadata log up to 11, not up to 12",)), (12, ())):
        progress = ask({1: OURS, 5: REAL}, observers={5: end}, listed={5}).progress(WANTED)
        assert progress.missing == lacks
        assert list(progress.by_log_end) == [5]
    # Of another feature there is no snapshot to wait for.
    other = WantedChange(updates={"group.version": FeatureUpdate(0, UpgradeType.SAFE_DOWNGRADE)}, end_offset=10)
    assert ask({1: OURS, 5: REAL}, observers={5: 11}, listed={5}).progress(other).missing == ()


def test_a_broker_that_does_not_answer_is_waited_for_unless_it_is_fenced():
    answers = {1: REAL, 5: GONE}
    alive = ask(answers, observers={5: 10}, listed={5}).progress(WANTED)
    assert alive.missing == ("node 5 does not answer: gone:1: cannot connect",)
    ghost = ask(answers, observers={5: 4}, listed={5}, fenced={5}).progress(WANTED)
    assert (ghost.missing, ghost.ghosts, ghost.nodes) == ((), (5,), (1,))


def test_a_broker_that_dies_is_waited_for_until_it_is_fenced_and_a_fenced_one_that_answers_is_no_ghost():
    gone = ask({1: REAL, 5: GONE}, listed={5}, fenced={5}, answered_before={5}).progress(WANTED)
    assert (gone.missing, gone.ghosts) == ((), (5,))
    slow = ask({1: REAL, 5: REAL}, observers={5: 4}, listed={5}, fenced={5}).progress(WANTED)
    assert slow.missing == ("observer 5 has the metadata log up to 4, not up to 10",)


def test_a_voter_is_no_ghost():
    progress = ask({1: REAL, 5: GONE}, voters={1: 10, 5: 10}, listed={5}, fenced={5}).progress(WANTED)
    assert (len(progress.missing), progress.ghosts) == (1, ())


def test_a_controller_that_has_answered_before_is_not_judged_by_its_log_end():
    answers = {1: REAL, 3: GONE}
    assert ask(answers, voters={1: 10, 3: 10}).progress(WANTED).missing == ()
    progress = ask(answers, voters={1: 10, 3: 10}, answered_before={3}).progress(WANTED)
    assert progress.missing == ("node 3 does not answer: gone:1: cannot connect",)


def test_a_replica_without_an_address_is_judged_by_its_log_end():
    progress = ask({1: REAL}, observers={5: 10, 6: 9}).progress(WANTED)
    assert progress.by_log_end[5] == "its address is not known here"
    assert progress.missing == ("observer 6 has the metadata log up to 9, not up to 10",)
