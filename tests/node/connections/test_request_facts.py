"""Every answered request as a line of the request log, as the fleet's reader reads it."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from broker_requests import registration_request
from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.node.config.node_config import BROKER
from falkirk.node.connections.loggable import HIDDEN, loggable
from falkirk.node.connections.request_facts import REQUEST_ANSWERED, RequestFacts
from falkirk.pipeline.readers.lines import iter_line_chunks
from falkirk.pipeline.readers.origin import Origin
from falkirk.pipeline.readers.requests import RequestReport, read_requests
from falkirk.protocol import messages
from falkirk.protocol.messages import ApiVersionsRequest, CreateTopicsRequest, DescribeClusterRequest
from falkirk.protocol.messages.alter_user_scram_credentials_request import ScramCredentialUpsertion
from falkirk.protocol.messages.create_topics_request import CreatableTopic
from falkirk.protocol.messages.incremental_alter_configs_request import AlterableConfig, AlterConfigsResource
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.request_line import write_request_line
from falkirk.versions.release import Release

RELEASE = Release.parse("4.3")


def rows(network: NodeNetwork, node_id: int) -> list[dict]:
    """What the fleet's reader makes of what a node told of clients that are no node."""
    facts = [fact for fact in network.hosts[node_id].facts if fact.event == REQUEST_ANSWERED]
    disk = MemoryDisk()
    disk.write("/log", [write_request_line(fact.fields["line"]) for fact in facts])
    report = RequestReport()
    batches = list(read_requests(iter_line_chunks(disk, "/log"), Origin(source="/log"), report))
    assert (report.bad_lines, report.skipped) == ([], 0)
    found = [row for batch in batches for row in batch.to_pylist()]
    return [row for row in found if row["client_host"] == "10.0.0.1"]


def a_controller(**settings) -> NodeNetwork:
    network = NodeNetwork()
    network.add_controllers(1, **settings)
    network.run_until(lambda: network.active is not None)
    return network


def test_a_request_is_told_with_who_asked_what_where_and_with_which_software():
    network = a_controller(has_request_facts=True)
    client = network.client(1)
    client.ask(ApiVersionsRequest("falkirk-test", "1.2"), 4)
    client.ask(registration_request(101, release="4.3", cluster_id="another"), 4)

    first, second = rows(network, 1)

    assert (first["api"], first["api_version"], first["error_code"]) == ("ApiVersions", 4, 0)
    assert (second["api"], second["api_version"], second["error_code"]) == ("BrokerRegistration", 4, 104)
    for row in (first, second):
        assert (row["node_id"], row["listener"], row["security_protocol"]) == (1, "CONTROLLER", "PLAINTEXT")
        assert (row["principal"], row["client_id"]) == ("User:ANONYMOUS", "tester")
        assert (row["software_name"], row["software_version"]) == ("falkirk-test", "1.2")
        assert not row["is_forwarded"]
        assert row["timestamp"] <= datetime.fromtimestamp(network.now_ms / 1000, UTC)


def test_a_forwarded_request_is_told_by_broker_and_controller_with_the_clients_own_address():
    network = a_controller(has_request_facts=True)
    network.add(101, roles={BROKER}, quorum_voters={1: controller_endpoint(1)}, has_request_facts=True)
    network.start(101)
    network.run_until(lambda: network.hosts[101].running.broker.broker_epoch >= 0)
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    network.client(101, BROKER_LISTENER).ask(CreateTopicsRequest([topic], 30_000, validate_only=False), 5)

    (at_broker,) = rows(network, 101)
    (at_controller,) = rows(network, 1)

    assert (at_broker["api"], at_broker["is_forwarded"], at_broker["listener"]) == (
        "CreateTopics",
        False,
        BROKER_LISTENER,
    )
    assert (at_controller["api"], at_controller["is_forwarded"]) == ("CreateTopics", True)


def test_requests_are_no_facts_where_nobody_asked_for_them():
    network = a_controller()
    network.client(1).ask(DescribeClusterRequest(endpoint_type=2), 1)

    assert network.facts(REQUEST_ANSWERED) == []


def test_an_answer_that_cannot_be_read_is_told_without_its_contents():
    facts = RequestFacts(node_id=1, release=RELEASE, now_ms=lambda: 0, effects=[].append)

    assert bytes(facts._response(19, 5, b"\xff")) == b"{}"
    assert json.loads(bytes(facts._response(63, 0, bytes(10))))["errorCode"] == 0


SECRET = b"what nobody may know"


@pytest.mark.parametrize(
    ("message", "version", "path"),
    [
        (messages.SaslAuthenticateRequest(SECRET), 2, ("authBytes",)),
        (messages.SaslAuthenticateResponse(0, None, SECRET), 2, ("authBytes",)),
        (messages.RenewDelegationTokenRequest(SECRET, 1), 2, ("hmac",)),
        (messages.ExpireDelegationTokenRequest(SECRET, 1), 2, ("hmac",)),
        (
            messages.AlterUserScramCredentialsRequest((), [ScramCredentialUpsertion("u", 1, 4096, SECRET, SECRET)]),
            0,
            ("upsertions", 0, "saltedPassword"),
        ),
    ],
)
def test_what_lets_others_in_is_in_no_line(message, version, path):
    form = loggable(message, version, RELEASE)

    for step in path:
        form = form[step]
    assert form == HIDDEN


@pytest.mark.parametrize(
    ("resource_type", "name", "shown"),
    [
        (4, "ssl.keystore.password", HIDDEN),
        (4, "listener.name.internal.ssl.key.password", HIDDEN),
        (4, "what.no.release.knows", HIDDEN),
        (4, "num.io.threads", "secret"),
        (2, "retention.ms", "secret"),
    ],
)
def test_values_of_brokers_configs_are_shown_if_they_are_known_to_be_no_passwords(resource_type, name, shown):
    resource = AlterConfigsResource(resource_type, "1", [AlterableConfig(name, 0, "secret")])
    request = messages.IncrementalAlterConfigsRequest([resource], validate_only=False)

    (config,) = loggable(request, 1, RELEASE)["resources"][0]["configs"]

    assert (config["name"], config["value"]) == (name, shown)
