"""`falkirk lift check` on clusters of ours."""

import json
import re
import shutil
from pathlib import Path

import pytest
from coordinator_logs import OFFSETS_TOPIC
from recorded_groups import group_records, produce
from running_cluster import up

from falkirk.protocol.messages import CreateTopicsRequest
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.storage.log_dir_names import LIVE_MARKER

NOTHING = "127.0.0.1:9"
PARTITIONS = 3


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("--bootstrap-server", NOTHING, "--to", "3.9"), 1, f"{NOTHING}: cannot connect: "),
        (("--bootstrap-server", "a.invalid:1", "--to", "3.9"), 1, "a.invalid:1: cannot connect: Name or service not"),
        (("--bootstrap-server", "nowhere", "--to", "3.9"), 1, "'nowhere' is no server: host:port was expected"),
        (("--bootstrap-server", NOTHING, "--to", "3.6"), 1, "3.6: 3.6-IV2 is below 3.7-IV0"),
        (("--bootstrap-server", NOTHING, "--to", "3.9", "--command-config", "none"), 1, "none: No such file"),
        (("--bootstrap-server", NOTHING, "--to", "3.9", "--properties", "none"), 1, "none: No such file"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_one_sentence(falkirk, options, code, message):
    answer = falkirk("lift", "check", *options)
    assert (answer.exit_code, answer.stdout) == (code, "")
    assert answer.stderr.startswith(message)
    assert answer.stderr.count("\n") == 1


@pytest.mark.slow
def test_the_ledger_of_a_running_cluster_is_that_of_a_copy_of_its_directory(falkirk, tmp_path):
    with up("--nodes", "1", "--single-process", "--release", "4.3", "--data", tmp_path / "data") as cluster:
        topics = [CreatableTopic(OFFSETS_TOPIC, PARTITIONS, 1), CreatableTopic("orders", 2, 1)]
        assert [topic.error_code for topic in cluster.ask(CreateTopicsRequest(topics)).topics] == [0, 0]
        produce(cluster, group_records(PARTITIONS))
        servers = ("--bootstrap-server", cluster.document["bootstrap_servers"])
        kept = falkirk("lift", "check", *servers, "--to", "3.9", "--keep", str(tmp_path / "kept"), "--json")
        text = falkirk("lift", "check", *servers, "--to", "3.9", "--all")
        same = falkirk("lift", "check", *servers, "--to", "4.3")
        # Stopped in order, brokers would leave their ISRs, and eligible leader replicas would be lost as well.
        shutil.copytree(tmp_path / "data" / "node-1", tmp_path / "copy")
        gone = falkirk("lift", "check", *servers, "--bootstrap-controller", NOTHING, "--to", "3.9")
    document = json.loads(kept.stdout)
    stopped = falkirk("logdir", "plan", str(tmp_path / "copy"), "--to", "3.9", "--json")

    assert (kept.exit_code, text.exit_code, stopped.exit_code) == (3, 3, 3)
    assert ledger(document["ledger"]) == ledger(json.loads(stopped.stdout))
    assert len(document["ledger"]["losses"]) > 1
    assert document["unseen"] == document["blockers"] == []
    assert document["way"]["kind"] == "feature update"
    [node] = document["nodes"]
    assert (node["broker"], node["controller"], node["answers"], node["at_bootstrap"]) == (True, True, True, True)
    # What was kept is read as a node's directory.
    directory = Path(document["directory"])
    assert (directory / LIVE_MARKER).exists()
    again = falkirk("logdir", "plan", str(directory), "--to", "3.9", "--json")
    assert (again.exit_code, json.loads(again.stdout)) == (3, document["ledger"])

    # Only a running cluster has members that lose their group.
    assert {each["kind"] for each in document["cut_off"]} == {"consumer_group"}
    lost = len(document["ledger"]["losses"]) + len(document["cut_off"])
    assert text.stdout.splitlines()[1] == f"Nothing is in the way; {lost} things would be lost."
    ways = [document["way"], *document["way"]["others"]]
    assert text.stdout.count("interruption: ") == sum(len(each["steps"]) for each in ways)
    assert "1 broker and controller at" in text.stdout
    assert (same.exit_code, same.stdout) == (1, "")
    assert "4.3-IV0 is not below it" in same.stderr
    assert (gone.exit_code, gone.stderr) == (1, f"{NOTHING}: cannot connect: Connection refused\n")


def ledger(document):
    """Return a ledger without the places of files."""
    text = re.sub(r'"source": "[^"]*"', '"source": null', json.dumps(document))
    return json.loads(text)
