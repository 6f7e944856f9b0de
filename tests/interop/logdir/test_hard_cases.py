"""Sources that were not stopped cleanly, or have another layout, boot at the target too (`make test-all`)."""

import shutil
from pathlib import Path

import pytest
from falkirk_program import downgraded, log_dirs, logdir
from kafka_answers import differences
from kafka_cluster import COMBINED, Clusters
from kafka_java import seed
from kafka_ledger import expected_answers
from kafka_node import BROKER, CONTROLLER
from kafka_scenarios import await_leadership
from kafka_state import BOOT_USER, ask, leadership

pytestmark = [pytest.mark.interop, pytest.mark.full]
THREE = {1: COMBINED, 2: COMBINED, 3: COMBINED}
SEPARATE = {1: (CONTROLLER,), 2: (BROKER,), 3: (BROKER,)}


@pytest.mark.parametrize("release", ["3.9.1", "3.7.2"])
def test_a_node_that_was_killed_at_work_recovers_at_the_target(
    release: str, clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.3.1", log_dirs=2, dynamic=True)
    source.format(scram=[BOOT_USER])
    with source.running():
        seed(source.bootstrap_servers)
    source.start()
    # No first messages deleted any more: a killed broker may forget that.
    seed(source.bootstrap_servers, "--seed", "2", "--steps", "topics,configs,transactions,classic-groups")
    before = ask(source)
    source.kill()
    target, ledger = downgraded(source, release, tmp_path)
    with clusters.adopt(target).running():
        after = ask(target, like=before)
        log = target.nodes[1].log_text()
    assert "Recovering unflushed segment" in log
    assert differences(expected_answers(before, ledger), after) == []


@pytest.mark.parametrize("release", ["3.9.1", "3.7.2"])
def test_an_open_transaction_is_named_stays_open_and_ends_at_the_target(
    release: str, clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.3.1", dynamic=True)
    source.format()
    with source.running():
        seed(source.bootstrap_servers, "--steps", "topics,data,transactions")
        seed(source.bootstrap_servers, "--steps", "open-transaction")
        before = ask(source)
    target, ledger = downgraded(source, release, tmp_path)
    [name] = [name for name, one in before["transactions"]["transactions"].items() if one["state"] == "Ongoing"]
    assert [warning for warning in ledger["warnings"] if f"transaction of {name} is ongoing" in warning["text"]]
    with clusters.adopt(target).running():
        after = ask(target)
        seed(target.bootstrap_servers, "--steps", "open-transaction")
        later = ask(target)
    assert differences(expected_answers(before, ledger), after) == []
    states = [answer["transactions"]["transactions"][name] for answer in (after, later)]
    assert [state["state"] for state in states] == ["Ongoing", "Ongoing"]
    # The producer that came next ended the first transaction and began its own.
    assert states[1]["producer_epoch"] > states[0]["producer_epoch"]


def test_a_node_whose_directories_were_not_given_rejoins_as_the_warning_says(
    clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.3.1", THREE, dynamic=True)
    source.format()
    with source.running():
        seed(source.bootstrap_servers)
        before = ask(source)
    given = [path for path in log_dirs(source) if path.parent.name != "node-3"]
    ledger = logdir("downgrade", *given, "--to", "3.9", "--out", tmp_path / "result", "--unsafe")
    [warning] = [each["text"] for each in ledger["warnings"] if each["text"].startswith("node 3 ")]
    assert "its metadata partition (__cluster_metadata-0) and bootstrap.checkpoint must go" in warning
    assert "start it when the other controllers have a leader" in warning
    shutil.copytree(source.home / "node-3", tmp_path / "result" / "node-3")
    for log_dir in (tmp_path / "result" / "node-3").iterdir():
        shutil.rmtree(log_dir / "__cluster_metadata-0", ignore_errors=True)
        (log_dir / "bootstrap.checkpoint").unlink(missing_ok=True)
    target = clusters.adopt(source.moved_to(tmp_path / "result", "3.9.1", home=tmp_path / "run"))
    for node_ids in ((1, 2), (3,)):
        for node_id in node_ids:
            target.nodes[node_id].start()
        for node_id in node_ids:
            target.nodes[node_id].wait_started(90)
    leaders = await_leadership(target, lambda state: state["brokers"] == [1, 2, 3])
    after = ask(target, like=before)
    target.stop()
    assert leaders["voters"] == [1, 2, 3]
    assert differences(expected_answers(before, ledger), after) == []


@pytest.mark.parametrize(("release", "dynamic"), [("3.9.1", True), ("3.7.2", True), ("3.7.2", False)])
def test_controllers_and_brokers_of_their_own_go_down(
    release: str, dynamic: bool, clusters: Clusters, tmp_path: Path
) -> None:
    source = clusters.new("4.3.1", SEPARATE, log_dirs=2, dynamic=dynamic)
    source.format()
    with source.running():
        seed(source.bootstrap_servers)
        before = ask(source)
    target, ledger = downgraded(source, release, tmp_path)
    with clusters.adopt(target).running():
        after, leaders = ask(target, like=before), leadership(target)
    assert differences(expected_answers(before, ledger), after) == []
    assert (leaders["voters"], leaders["brokers"]) == ([1], [2, 3])


def test_a_result_in_place_boots_and_the_metadata_may_have_a_directory_of_its_own(
    clusters: Clusters, tmp_path: Path
) -> None:
    home = tmp_path / "metadata"
    source = clusters.new("4.3.1", log_dirs=2, dynamic=True, settings={"metadata.log.dir": str(home)})
    source.format()
    with source.running():
        seed(source.bootstrap_servers)
        before = ask(source)
    ledger = logdir("downgrade", source.nodes[1].properties_file, "--to", "3.9", "--in-place", "--unsafe")
    target = clusters.adopt(source.moved_to({1: source.layouts[0].log_dirs}, "3.9.1", home=tmp_path / "run"))
    with target.running():
        after = ask(target, like=before)
    assert differences(expected_answers(before, ledger), after) == []


def test_undo_gives_three_nodes_their_dynamic_voters_back(clusters: Clusters, tmp_path: Path) -> None:
    source = clusters.new("4.3.1", THREE, dynamic=True)
    source.format()
    with source.running():
        seed(source.bootstrap_servers)
        before = ask(source)
    target, ledger = downgraded(source, "3.7.2", tmp_path / "down")
    with clusters.adopt(target).running():
        after = ask(target, like=before)
        seed(target.bootstrap_servers, "--steps", "later")
        later = ask(target, like=before)
    result = tmp_path / "up" / "result"
    logdir("undo", tmp_path / "down" / "result", "--bundle", ledger["bundle"], "--out", result)
    again = clusters.adopt(source.moved_to(result, "4.3.1", home=tmp_path / "up" / "run"))
    with again.running():
        answered, leaders = ask(again, like=before), leadership(again)
    assert before["features"]["kraft.version"] == 1
    assert differences(before, answered) == differences(after, later)
    assert leaders["voters"] == leaders["brokers"] == [1, 2, 3]


def test_a_cordoned_log_dir_is_named_and_open_again_at_the_target(clusters: Clusters, tmp_path: Path) -> None:
    source = clusters.new("4.3.1", log_dirs=2, dynamic=True)
    [_, cordoned] = source.layouts[0].log_dirs
    source = clusters.adopt(
        source.moved_to(
            {1: source.layouts[0].log_dirs}, "4.3.1", home=source.home, settings={"cordoned.log.dirs": str(cordoned)}
        )
    )
    source.format()
    with source.running():
        seed(source.bootstrap_servers, "--steps", "topics,data")
        before = ask(source)
    assert not list(cordoned.glob("plain-*"))
    target, ledger = downgraded(source, "3.9.1", tmp_path)
    [loss] = [loss for loss in ledger["losses"] if loss["kind"] == "cordoned_log_dirs"]
    assert loss["key"] == "broker 1"
    with clusters.adopt(target).running():
        after = ask(target)
        seed(target.bootstrap_servers, "--seed", "2", "--steps", "topics")
    assert differences(expected_answers(before, ledger), after) == []
    assert list(target.layouts[0].log_dirs[1].glob("plain-*"))
