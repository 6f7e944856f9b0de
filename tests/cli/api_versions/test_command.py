"""The command against fake nodes, which run on a loop of their own."""

import asyncio
import json
import threading
from contextlib import contextmanager

import pytest
from fake_node import FakeNode, api_versions_response, ranges

from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.messages import DescribeClusterResponse, describe_cluster_response
from falkirk.versions.api_support import Listener
from falkirk.versions.release import Release

NEW = ranges(api0="0-13", api3="0-13", api18="0-5", api60="0-2")
OLD = ranges(api0="3-9", api18="0-3", api60="0-1")
NOBODY = Endpoint("127.0.0.1", 1)


@contextmanager
def cluster(*nodes, down=()):
    """Run nodes that describe each other; the first ones have the lowest ids, and `down` ones come last."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def call(coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(10)

    try:
        for node in nodes:
            call(node.__aenter__())
        known = [*(node.endpoint for node in nodes), *down]
        broker = describe_cluster_response.DescribeClusterBroker
        described = DescribeClusterResponse(
            cluster_id="c", brokers=[broker(at, *endpoint) for at, endpoint in enumerate(known, 1)]
        )
        for node in nodes:
            features = api_versions_response(node.api_ranges, finalized_features_epoch=4)
            node.answer = lambda request, features=features: described if request.api_key == 60 else features
        yield ",".join(map(str, (node.endpoint for node in nodes)))
        for node in nodes:
            call(node.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_every_node_is_told_and_what_all_of_them_have(falkirk):
    with cluster(FakeNode(NEW), FakeNode(OLD)) as servers:
        text = falkirk("api-versions", "--bootstrap-server", servers)
        document = falkirk("api-versions", "--bootstrap-server", servers, "--json")
    assert (text.exit_code, text.stderr) == (0, "")
    assert text.stdout.count("-> (\n\tProduce(0): ") == 3
    common = {
        api["name"]: (api["min_version"], api["max_version"]) for api in json.loads(document.stdout)["common_apis"]
    }
    assert common == {"Produce": (3, 9), "ApiVersions": (0, 3), "DescribeCluster": (0, 1)}


def test_a_node_that_is_down_is_named_and_the_others_are_told_all_the_same(falkirk):
    with cluster(FakeNode(NEW), down=[NOBODY]) as servers:
        text = falkirk("api-versions", "--bootstrap-server", servers)
        document = falkirk("api-versions", "--bootstrap-server", servers, "--json")
    assert (text.exit_code, text.stderr) == (1, "127.0.0.1:1: cannot connect: Connection refused\n")
    assert "Produce(0): 0 to 13" in text.stdout
    assert document.exit_code == 1
    assert [node["error"] is None for node in json.loads(document.stdout)["nodes"]] == [True, False]


def test_a_java_client_of_a_release_uses_what_its_table_has(falkirk):
    with cluster(FakeNode(NEW)) as servers:
        told_of = {
            release: falkirk("api-versions", "--bootstrap-server", servers, "--client-release", release, "--json")
            for release in ("2.4", "3.7.2", "4.3")
        }
    for release, answer in told_of.items():
        document = json.loads(answer.stdout)
        usable = {api["key"]: api["usable_version"] for api in document["nodes"][0]["apis"]}
        table = Release.parse(release).apis
        assert usable == {
            key: min(NEW[key].highest, table[key].stable_versions.highest) if key in table else None for key in NEW
        }
    assert json.loads(told_of["2.4"].stdout)["client_release"] == "2.4.1"


def test_controllers_are_told_with_what_controllers_have(falkirk):
    release = Release.parse("4.3")
    offered = release.api_ranges(Listener.CONTROLLER)
    with cluster(FakeNode(offered)) as servers:
        answer = falkirk("api-versions", "--bootstrap-controller", servers, "--client-release", "4.3")
    assert answer.exit_code == 0
    assert "UNSUPPORTED" not in answer.stdout
    assert answer.stdout.count("[usable: ") == len(offered)


def test_features_of_a_client_are_told_as_usable_or_with_what_they_lack(falkirk, tmp_path):
    file = tmp_path / "features.json"
    file.write_text(json.dumps({"exactly-once": {"Produce": "3-9"}, "by-id": {"0": "13", "Metadata": "12-13"}}))
    with cluster(FakeNode(NEW), FakeNode(OLD)) as servers:
        answer = falkirk("api-versions", "--bootstrap-server", servers, "--features-file", str(file), "--json")
        avoiding = falkirk(
            *("api-versions", "--bootstrap-server", servers, "--features-file", str(file), "--json"),
            *("--avoid-api-versions", "Produce:3-9"),
        )
    found = json.loads(answer.stdout)["client_features"]
    assert (found["exactly-once"]["usable"], found["by-id"]["usable"]) == (True, False)
    assert [missing["name"] for missing in found["by-id"]["missing"]] == ["Produce", "Metadata"]
    found = json.loads(avoiding.stdout)
    assert not found["client_features"]["exactly-once"]["usable"]
    assert found["nodes"][1]["apis"][0]["unusable_because"] == "version avoided"


def test_properties_of_the_connection_are_taken(falkirk, tmp_path):
    file = tmp_path / "client.properties"
    file.write_text("avoid.api.versions=Produce:13\nrequest.timeout.ms=20000\n")
    with cluster(FakeNode(NEW)) as servers:
        answer = falkirk(
            "api-versions", "--bootstrap-server", servers, "--command-config", str(file), "--avoid-api-versions", "0:12"
        )
    assert "Produce(0): 0 to 13 [usable: 11]" in answer.stdout


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "truncated"),
        ('{"f": {"Fetsch": "1"}}', "f: 'Fetsch': '1' is no API with its versions"),
        ('{"f": {"Fetch": "4-2"}}', "'4-2'"),
        ('{"f": {"Fetch": "new"}}', "'new'"),
        ('{"f": {"Fetch": 3}}', "Expected `str`"),
    ],
)
def test_a_features_file_that_cannot_be_read_is_named(falkirk, tmp_path, text, reason):
    file = tmp_path / "features.json"
    file.write_text(text)
    answer = falkirk("api-versions", "--bootstrap-server", "127.0.0.1:1", "--features-file", str(file))
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert str(file) in answer.stderr
    assert reason in answer.stderr


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
    [
        ((), 2, "name either --bootstrap-server or --bootstrap-controller"),
        (("--bootstrap-server", "a:1", "--bootstrap-controller", "a:1"), 2, "name either"),
        (("--bootstrap-server", "127.0.0.1:1,127.0.0.1:2"), 1, "127.0.0.1:2: cannot connect"),
        (("--bootstrap-server", "127.0.0.1"), 1, "'127.0.0.1' is no server"),
        (("--bootstrap-server", "a:1", "--client-release", "2.3"), 1, "unknown release '2.3'"),
        (("--bootstrap-server", "a:1", "--avoid-api-versions", "x:1"), 1, "no API is called 'x'"),
        (
            ("--bootstrap-server", "a:1", "--command-config", "nothing.properties"),
            1,
            "nothing.properties: No such file",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(falkirk, words, exit_code, message):
    answer = falkirk("api-versions", *words)
    assert (answer.exit_code, answer.stdout) == (exit_code, "")
    assert message in answer.stderr
