"""The simulator finds bugs: each patch in `planted` is a slip that somebody could make."""

from pathlib import Path

import pytest
from planted_bug import PlantedBug

PLANTED = Path(__file__).parent / "planted"
SEARCHED = range(80)
# Found by short runs, two of each kind of run, by different checkers.
QUICK = frozenset({
    "cache_goes_back",
    "consumers_read_to_the_end",
    "eligible_left_when_the_feature_goes",
    "eligible_while_others_commit",
    "epoch_written_with_votes_alone",
    "given_before_it_is_given_up",
    "in_sync_without_catching_up",
    "index_keeps_who_left_the_isr",
    "lowering_not_replayed_by_the_controller",
    "offsets_acknowledged_before_they_are_committed",
    "older_batch_counts_as_damage",
    "partitions_written_as_the_newest_level_has_them",
    "vote_for_a_shorter_log",
    "work_not_sliced",
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
    # In `steps` a seed chooses no more than when controllers crash.
    searched = range(3) if bug.folder == "steps" else SEARCHED
    found = bug.find(modules, range(bug.seed, bug.seed + 1)) or bug.find(modules, searched)
    assert found is not None, f"{bug.path.name} is not found by any of the seeds {searched}"
    assert any(kind in found[1] for kind in bug.kinds), found


def test_every_planted_bug_applies(tmp_path):
    for path in PLANTED.rglob("*.patch"):
        assert PlantedBug.read(path).apply(tmp_path)


def test_there_are_thirty_planted_bugs():
    assert len(list(PLANTED.rglob("*.patch"))) >= 30
    assert {path.stem for path in PLANTED.rglob("*.patch")} >= QUICK
