"""Tasks that change hands between the members of a streams group."""

import pytest

from falkirk.coordinator.prediction.replay_error import ReplayError
from falkirk.coordinator.prediction.task_owners import NO_TASKS, RunningTasks, TaskKind, TaskOwners, running_tasks

ACTIVE, STANDBY = TaskKind.ACTIVE, TaskKind.STANDBY


def running(process_id, *partitions, kind=ACTIVE):
    return RunningTasks(process_id, (((kind, "s"), frozenset(partitions)),))


def test_tasks_given_back_can_be_taken():
    owners = TaskOwners()
    owners.move(NO_TASKS, running("p", 0, 1))
    owners.move(running("p", 0, 1), running("p", 0))
    owners.move(None, running("q", 1))
    owners.move(running("q", 1), None)


def test_an_active_task_has_one_owner_even_of_the_same_process():
    owners = TaskOwners()
    owners.move(None, running("p", 0))
    for process_id in ("p", "q"):
        with pytest.raises(ReplayError, match="task s_0, which another process still runs"):
            owners.move(None, running(process_id, 0))
    owners.move(None, running("p", 0, kind=STANDBY))
    owners.move(None, running("q", 0, kind=STANDBY))


def test_a_move_that_fails_changes_nothing():
    owners = TaskOwners()
    owners.move(None, running("p", 0))
    owners.move(None, running("q", 1))
    with pytest.raises(ReplayError):
        owners.move(running("p", 0), running("p", 1))
    owners.move(running("p", 0), NO_TASKS)


@pytest.mark.parametrize("kind", [ACTIVE, STANDBY])
def test_only_the_process_that_runs_a_task_gives_it_back(kind):
    owners = TaskOwners()
    owners.move(None, running("p", 0, kind=kind))
    for wrong in (running("q", 0, kind=kind), running("p", 1, kind=kind), running(None, 0, kind=kind)):
        with pytest.raises(ReplayError, match="which its process does not run"):
            owners.move(wrong, None)
    owners.move(running("p", 0, kind=kind), None)


def test_tasks_without_a_process_are_not_kept_but_missed():
    owners = TaskOwners()
    owners.move(NO_TASKS, running(None, 0))
    with pytest.raises(ReplayError, match="subtopology s, of which no member runs a task"):
        owners.move(running(None, 0), running("p", 0))
    owners.move(None, running("q", 1))
    # Beside tasks of others an active one that nobody has is given back by nobody.
    owners.move(running(None, 0), None)


def test_a_subtopology_without_partitions_is_given_back_once():
    owners = TaskOwners()
    owners.move(None, running("p"))
    owners.move(None, running("q"))
    owners.move(running("p"), None)
    with pytest.raises(ReplayError, match="of which no member runs a task"):
        owners.move(running("q"), None)


def test_a_standby_task_that_nobody_runs_any_more_keeps_its_subtopology():
    owners = TaskOwners()
    owners.move(None, running("p", 0, kind=STANDBY))
    owners.move(running("p", 0, kind=STANDBY), None)
    owners.move(running("p", kind=STANDBY), None)


def test_tasks_of_a_record_are_those_assigned_and_those_to_be_revoked():
    lists = ("active_tasks", "standby_tasks", "warmup_tasks")
    value = {name + suffix: [] for name in lists for suffix in ("", "_pending_revocation")}
    value["standby_tasks"] = [{"subtopology_id": "s", "partitions": [2, 2]}]
    value["active_tasks_pending_revocation"] = [{"subtopology_id": "s", "partitions": []}]
    assert running_tasks("p", value) == RunningTasks(
        "p", (((STANDBY, "s"), frozenset({2})), ((ACTIVE, "s"), frozenset()))
    )
    assert running_tasks("p", None) == RunningTasks("p")
