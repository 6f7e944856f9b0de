"""The simulator finds bugs: each patch in `planted` is a slip that somebody could make."""

from pathlib import Path

import pytest
from planted_bug import PlantedBug

PLANTED = Path(__file__).parent / "planted"
SEARCHED = range(80)
# Found by short runs, each by another checker.
QUICK = frozenset({
    "brokers_of_the_election_alone",
    "cache_goes_back",
    "consumers_read_to_the_end",
    "controllers_do_not_count",
    "duplicates_appended",
    "eligible_left_when_the_feature_goes",
    "eligible_while_others_commit",
    "epoch_told_before_it_is_known",
    "epoch_written_with_votes_alone",
    "fenced_broker_keeps_leading",
    "finalized_levels_not_checked",
    "given_before_it_is_given_up",
    "held_back_replica_served",
    "image_ahead_of_the_commit",
    "in_sync_without_catching_up",
    "lowering_not_replayed_by_the_controller",
    "malformed_written_over",
    "minimum_follows_ignored_brokers",
    "not_read_again_after_expiry",
    "offsets_acknowledged_before_they_are_committed",
    "partitions_written_as_the_newest_level_has_them",
    "reply_before_commit",
    "safe_goes_on_whatever_is_lost",
    "snapshot_at_the_level_of_the_release",
    "vote_for_a_shorter_log",
    "write_without_the_epoch",
})  # fmt: skip


def bugs():
    for path in sorted(PLANTED.rglob("*.patch")):
        marks = [pytest.mark.slow] if path.stem in QUICK else [pytest.mark.slow, pytest.mark.full]
        yield pytest.param(path, id=path.stem, marks=marks)


@pytest.mark.parametrize("path", list(bugs()))
def test_a_planted_bug_is_found(path, tmp_path):
    bug = PlantedBug.read(path)
    modules = bug.apply(tmp_path)
    # Where the code has changed since, the seed that found it then may find it no more; another must.
    found = bug.find(modules, range(bug.seed, bug.seed + 1)) or bug.find(modules, SEARCHED)
    assert found is not None, f"{bug.path.name} is not found by any of the seeds {SEARCHED}"
    assert any(kind in found[1] for kind in bug.kinds), found


def test_there_are_thirty_planted_bugs():
    assert len(list(PLANTED.rglob("*.patch"))) >= 30
    assert {path.stem for path in PLANTED.rglob("*.patch")} >= QUICK
