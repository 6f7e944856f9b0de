"""`falkirk quorum` without a cluster: wrong usage, and views of made quorums; `test_sessions.py` has the rest."""

from dataclasses import replace

import pytest

from falkirk.cli.quorum.views import QuorumView
from falkirk.client.quorum_description import QuorumDescription, ReplicaState
from falkirk.operations.ghosts import Ghost
from falkirk.operations.quorum_status import QuorumStatus
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.schema import ZERO_UUID

NOWHERE = ("--bootstrap-server", "127.0.0.1:1")
LEADER = ReplicaState(
    node_id=1,
    directory_id=bytes(15) + b"\x07",
    log_end_offset=120,
    last_fetch_timestamp=90_000,
    last_caught_up_timestamp=90_000,
)
FOLLOWER = replace(LEADER, node_id=2, log_end_offset=100, last_fetch_timestamp=89_750, last_caught_up_timestamp=80_000)
STATIC = replace(LEADER, node_id=3, directory_id=ZERO_UUID, last_fetch_timestamp=None, last_caught_up_timestamp=None)
QUORUM = QuorumDescription(
    leader_id=1,
    leader_epoch=4,
    high_watermark=118,
    voter_states=(LEADER, FOLLOWER),
    observer_states=(replace(STATIC, log_end_offset=-1),),
    voter_listeners={1: {"CONTROLLER": Endpoint("c1", 9093), "OTHER": Endpoint("::1", 9094)}},
)
STATUS = QuorumStatus(cluster_id="cluster", kraft_version=1, quorum=QUORUM, ghosts=())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("describe", *NOWHERE), "One of --status or --replication must be specified with describe sub-command"),
        (
            ("describe", "--status", "--replication", *NOWHERE),
            "Only one of --status or --replication should be specified with describe sub-command",
        ),
        (
            ("describe", "--status", "--human-readable", *NOWHERE),
            "The option --human-readable is only supported along with --replication",
        ),
        (("describe", "--status"), "name the nodes with --bootstrap-server or --bootstrap-controller"),
        (
            ("add-controller", *NOWHERE),
            "You must supply the configuration file of the controller you are adding when using add-controller.",
        ),
        (
            ("add", "--controller-id", "9", *NOWHERE),
            "--controller-id needs --controller-endpoint, at which the other controllers reach it",
        ),
        (
            ("add", "--controller-id", "9", "--controller-directory-id", "x", "--controller-endpoint", "C", *NOWHERE),
            "Failed to parse --controller-directory-id: 'x' is not a uuid (22 characters of URL-safe base64)",
        ),
        (
            (
                *("add", "--controller-id", "9", "--controller-directory-id", "AAAAAAAAAAAAAAAAAAAAAw"),
                *("--controller-endpoint", "host:9093", *NOWHERE),
            ),
            "'host:9093' is no endpoint of a controller: NAME://host:port was expected",
        ),
        (("remove", "--controller-id", "-1", *NOWHERE), "Invalid negative --controller-id: -1"),
    ],
)
def test_wrong_usage_is_one_line_in_the_words_of_the_tool(falkirk, words, message):
    answer = falkirk("quorum", *words)
    assert (answer.exit_code, answer.stdout, answer.stderr) == (2, "", message + "\n")


def test_the_file_of_a_broker_names_no_controller(falkirk, tmp_path):
    file = tmp_path / "server.properties"
    file.write_text(
        "process.roles=broker\nnode.id=5\ncontroller.listener.names=C\ncontroller.quorum.bootstrap.servers=h:1\n"
        "listeners=PLAINTEXT://h:2\nlistener.security.protocol.map=C:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
    )
    answer = falkirk("quorum", *NOWHERE, "--command-config", file, "add-controller")
    assert answer.exit_code == 1
    assert answer.stderr.startswith("process.roles did not contain 'controller' in configuration file.")


def test_the_lag_is_that_of_the_slowest_voter():
    lines = list(QuorumView(status=STATUS).text())
    assert lines[4:6] == ["MaxFollowerLag:         20", "MaxFollowerLagTimeMs:   10000"]
    assert lines[6] == (
        'CurrentVoters:          [{"id": 1, "directoryId": "AAAAAAAAAAAAAAAAAAAABw", "endpoints": '
        '["CONTROLLER://c1:9093", "OTHER://[::1]:9094"]}, {"id": 2, "directoryId": "AAAAAAAAAAAAAAAAAAAABw"}]'
    )
    assert lines[7] == 'CurrentObservers:       [{"id": 3}]'
    never = replace(STATUS, quorum=replace(QUORUM, voter_states=(LEADER, replace(STATIC, log_end_offset=0))))
    assert list(QuorumView(status=never).text())[5] == "MaxFollowerLagTimeMs:   -1"


def test_times_are_relative_to_the_leaders_clock():
    rows = [line.split("\t") for line in QuorumView(status=STATUS, replication=True, human_readable=True).text()]
    assert [[cell.strip() for cell in row[4:7]] for row in rows[1:]] == [
        ["0 ms ago", "0 ms ago", "Leader"],
        ["250 ms ago", "10000 ms ago", "Follower"],
        ["-1", "-1", "Observer"],
    ]


def test_the_document_has_kraft_version_endpoints_and_ghosts():
    status = replace(STATUS, ghosts=(Ghost(role="controller", node_id=101),))
    document = QuorumView(status=status).document()
    assert document["kraft_version"] == 1
    assert document["voters"][0]["endpoints"] == {"CONTROLLER": "c1:9093", "OTHER": "[::1]:9094"}
    assert [each["lag"] for each in document["voters"]] == [0, 20]
    assert document["observers"][0]["directory_id"] is None
    assert document["ghosts"][0]["node_id"] == 101
