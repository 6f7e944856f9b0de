"""Updates of features in a running cluster, asked of a controller or of a broker."""

import pytest
from coordinator_topics import create, transaction, write
from group_records import Log, member
from node_network import BROKER_LISTENER, NodeNetwork, controller_endpoint

from falkirk.coordinator.records.transaction_state import TransactionState
from falkirk.metadata.controller.features.coordinator_use import CoordinatorUse
from falkirk.metadata.undo.undo_bundle import parse_bundle
from falkirk.node.broker.broker_lifecycle import BrokerState
from falkirk.node.config.node_config import BROKER
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import decode_details, encode_consents
from falkirk.protocol.java_hash_map import java_string_hash
from falkirk.protocol.messages import UpdateFeaturesRequest
from falkirk.protocol.messages.update_features_request import FeatureUpdateKey
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.server.feature_update_facts import FeatureUpdateFacts

UPGRADE, SAFE, UNSAFE = UpgradeType
BROKER_ID = 101
TRANSACTIONS, GROUPS = "__transaction_state", "__consumer_offsets"


def a_cluster(release="4.4", *, brokers=1, **settings):
    """Three controllers that have registered, and brokers."""
    network = NodeNetwork(release=release)
    network.add_controllers(3, **settings)
    network.run_until(lambda: network.active)
    voters = {node_id: controller_endpoint(node_id) for node_id in (1, 2, 3)}
    for node_id in range(BROKER_ID, BROKER_ID + brokers):
        network.add(node_id, roles={BROKER}, quorum_voters=voters)
        network.start(node_id)
        network.run_until(lambda node_id=node_id: broker_state(network, node_id) is BrokerState.RUNNING)
    network.run_until(lambda: len(image(network).cluster.controllers) == 3)
    return network


def broker_state(network, node_id):
    return network.hosts[node_id].running.broker.state


def image(network):
    return network.active.running.image


def levels(network):
    return image(network).features.levels()


def request(*updates, dry=False, timeout_ms=60_000, abort_transactions=False):
    keys = [FeatureUpdateKey(name, level, upgrade_type=type_) for name, level, type_ in updates]
    consents = encode_consents(abort_transactions=abort_transactions)
    return UpdateFeaturesRequest(
        timeout_ms=timeout_ms, feature_updates=keys, validate_only=dry, unknown_tagged_fields=consents
    )


def ask(network, *updates, **fields):
    """Ask the active controller; return the answer's code, message and details."""
    client = network.client(network.active.config.node_id)
    return told(client.ask(request(*updates, **fields), 2))


def told(answer):
    return answer.error_code, answer.error_message, decode_details(answer.unknown_tagged_fields)


def with_share_group(network):
    create(network, BROKER_ID, BROKER_LISTENER, GROUPS)
    log = Log()
    log.commit("plain")
    log.value(11, "deliveries", epoch=1)
    log.value(10, member("deliveries"))
    leader = image(network).topics.partition(GROUPS, 0).leader
    network.run_until(lambda: network.hosts[leader].running.image.topics.topic(GROUPS))
    write(network, leader, BROKER_LISTENER, GROUPS, log.entries)


def test_an_update_asked_of_a_broker_reaches_every_node():
    network = a_cluster()
    answer = network.client(BROKER_ID, BROKER_LISTENER).ask(request(("group.version", 1, UPGRADE)), 1)
    assert [(each.feature, each.error_code, each.error_message) for each in answer.results] == [
        ("group.version", ErrorCode.NONE, "NONE")
    ]
    hosts = network.hosts.values()
    network.run_until(lambda: all(host.running.image.features.finalized.get("group.version") for host in hosts))


def test_a_voter_is_silent_when_it_has_not_fetched_for_a_while():
    network = a_cluster(brokers=0)
    stopped = next(node_id for node_id in (1, 2, 3) if node_id != network.active.config.node_id)

    def silent(since_ms=0):
        return network.active.running._raft.silent_voters(network.now_ms, since_ms=since_ms)

    network.run_for(5_000)
    assert silent() == frozenset()
    network.kill(stopped)
    network.run_until(lambda: silent() == {stopped})
    assert silent(network.now_ms - 1) == frozenset()


def test_a_standby_is_not_the_controller():
    network = a_cluster(brokers=0)
    standby = next(host for host in network.running if host is not network.active)
    answer = network.client(standby.config.node_id).ask(request(("group.version", 1, UPGRADE)), 2)
    assert answer.error_code == ErrorCode.NOT_CONTROLLER


def test_what_undoes_a_lowering_is_on_the_disk_when_it_is_answered():
    network = a_cluster()
    before = levels(network)["metadata.version"]
    code, _, details = ask(network, ("metadata.version", 17, SAFE))
    assert code == ErrorCode.NONE
    assert levels(network)["metadata.version"] == 17
    bundle = parse_bundle(network.active.disk.read(details.undo_bundle))
    assert (bundle.level_before, bundle.level_after) == (before, 17)
    network.run_until(lambda: len(network.facts("undo-bundle-written")) == 3)
    assert {fact.fields["path"] for fact in network.facts("undo-bundle-written")} == {details.undo_bundle}
    assert "/falkirk-undo/" in details.undo_bundle
    assert details.undo_bundle.endswith("-4.4-IV2-3.7-IV2.zip")


def test_nothing_is_lowered_that_cannot_be_undone():
    network = a_cluster(brokers=0, undo_dir="/d0/meta.properties/undo")
    before = levels(network)
    code, message, _ = ask(network, ("metadata.version", 17, SAFE))
    assert code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "The undo bundle /d0/meta.properties/undo/" in message
    assert levels(network) == before


def test_a_dry_run_leaves_nothing_behind():
    network = a_cluster(brokers=0)
    before = levels(network)
    code, _, details = ask(network, ("metadata.version", 17, SAFE), dry=True)
    assert code == ErrorCode.NONE
    assert details is None
    assert levels(network) == before
    assert network.facts("undo-bundle-written") == []


def with_open_transaction():
    """A cluster at transaction.version 2 with a transaction that its coordinator ends after 10 s."""
    network = a_cluster()
    create(network, BROKER_ID, BROKER_LISTENER, TRANSACTIONS, partitions=3)
    records = [transaction("paying", TransactionState.ONGOING), transaction("paid", TransactionState.COMPLETE_COMMIT)]
    write(network, BROKER_ID, BROKER_LISTENER, TRANSACTIONS, records, partition=abs(java_string_hash("paying")) % 3)
    assert ask(network, ("transaction.version", 2, UPGRADE))[0] == ErrorCode.NONE
    return network


def test_safe_names_open_transactions_and_unsafe_waits_for_their_end():
    network = with_open_transaction()
    code, message, details = ask(network, ("transaction.version", 0, SAFE))
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert "transactional id paying has an open transaction (ongoing) of producer 5 with epoch 2 since 1970" in message
    assert "paid" not in message.replace("paying", "")
    assert [item["key"] for item in details.losses] == ["transactional id paying"]
    assert levels(network)["transaction.version"] == 2
    code, _, details = ask(network, ("transaction.version", 0, UNSAFE), dry=True)
    assert code == ErrorCode.NONE
    assert [item["kind"] for item in details.losses] == ["open_transaction"]
    assert ask(network, ("transaction.version", 0, UNSAFE)) == (ErrorCode.NONE, None, None)
    assert "transaction.version" not in levels(network)


def test_transactions_that_do_not_end_in_time_are_named_and_nothing_is_lowered():
    network = with_open_transaction()
    code, message, details = ask(network, ("transaction.version", 0, UNSAFE), timeout_ms=2_000)
    assert code == ErrorCode.REQUEST_TIMED_OUT
    assert "Open transactions have not ended in time: transactional id paying has an open transaction" in message
    assert [item["kind"] for item in details.losses] == ["open_transaction"]
    assert [(item["kind"], item["transactional_id"]) for item in details.blockers] == [
        ("transaction-not-ended", "paying")
    ]
    (refused,) = network.facts("feature-update-refused")
    assert refused.fields["blockers"] == details.blockers
    assert levels(network)["transaction.version"] == 2
    assert ask(network, ("group.version", 1, UPGRADE))[0] == ErrorCode.NONE


def test_open_transactions_are_aborted_if_the_request_says_so():
    network = with_open_transaction()
    code, _, details = ask(network, ("transaction.version", 0, UNSAFE), timeout_ms=5_000, abort_transactions=True)
    assert code == ErrorCode.NONE
    assert [(item["kind"], item["key"]) for item in details.losses] == [
        ("aborted_transaction", "transactional id paying")
    ]
    assert "transaction.version" not in levels(network)
    assert [fact.fields["key"] for fact in network.facts("cut-off")] == ["transactional id paying"]


def test_safe_names_share_groups():
    network = a_cluster()
    with_share_group(network)
    assert ask(network, ("share.version", 2, UPGRADE))[0] == ErrorCode.NONE
    # Only at 0 are they out of use.
    assert ask(network, ("share.version", 1, SAFE))[0] == ErrorCode.NONE
    code, message, _ = ask(network, ("share.version", 0, SAFE))
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert "group deliveries is a share group with 1 members" in message
    assert "plain" not in message


def test_safe_names_consumer_groups_with_members_and_unsafe_says_what_it_drains():
    network = a_cluster()
    create(network, BROKER_ID, BROKER_LISTENER, GROUPS)
    log = Log()
    log.commit("modern")
    log.value(3, "modern", epoch=2)
    log.value(5, member("modern", "here"))
    # Nobody is left in this one: classic members take it over, with its offsets.
    log.value(3, "left", epoch=2)
    write(network, BROKER_ID, BROKER_LISTENER, GROUPS, log.entries)
    assert ask(network, ("group.version", 1, UPGRADE)) == (ErrorCode.NONE, None, None)
    both = ("metadata.version", 21), ("group.version", 0)
    code, message, details = ask(network, *((name, level, SAFE) for name, level in both))
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert "group modern is a consumer group with 1 members (here)" in message
    assert [item["key"] for item in details.losses] == ["group modern"]
    assert levels(network)["group.version"] == 1
    code, _, details = ask(network, *((name, level, UNSAFE) for name, level in both))
    assert code == ErrorCode.NONE
    assert [item["after"] for item in details.losses] == [{"members": 0, "committed_offsets": 1}]
    assert levels(network) == {"metadata.version": 21}
    assert [fact.fields["key"] for fact in network.facts("cut-off")] == ["group modern"]


def test_features_that_nobody_uses_are_lowered_without_a_word():
    network = a_cluster()
    with_share_group(network)
    for name, level in (("group.version", 1), ("streams.version", 1)):
        assert ask(network, (name, level, UPGRADE))[0] == ErrorCode.NONE
        assert ask(network, (name, 0, SAFE)) == (ErrorCode.NONE, None, None)


@pytest.mark.slow
def test_safe_does_not_go_on_where_nobody_knows_what_is_in_use():
    network = a_cluster(brokers=2)
    with_share_group(network)
    assert ask(network, ("share.version", 1, UPGRADE))[0] == ErrorCode.NONE
    leader = image(network).topics.partition(GROUPS, 0).leader
    network.kill(leader)
    network.run_until(lambda: image(network).cluster.brokers[leader].fenced)
    code, message, details = ask(network, ("share.version", 0, SAFE))
    assert code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "__consumer_offsets-0: it has no leader" in message
    assert [item["kind"] for item in details.losses] == ["not_read"]
    assert ask(network, ("share.version", 0, UNSAFE))[0] == ErrorCode.NONE


def test_one_update_at_a_time_is_looked_into_and_in_its_time():
    network = a_cluster()
    with_share_group(network)
    assert ask(network, ("share.version", 1, UPGRADE))[0] == ErrorCode.NONE
    network.isolate(BROKER_ID)
    node_id = network.active.config.node_id
    first, second = network.client(node_id), network.client(node_id)
    waits = first.send(request(("share.version", 0, SAFE), timeout_ms=1_000), 2)
    network.settle()
    # It is not even decided on: nobody looks what would be in its way.
    code, message, details = told(second.ask(request(("metadata.version", 99, UPGRADE)), 2))
    assert code == ErrorCode.FEATURE_UPDATE_FAILED
    assert "Another update of features is under way" in message
    assert details is None
    network.run_until(lambda: waits in first.answers)
    assert first.answers[waits].error_code == ErrorCode.REQUEST_TIMED_OUT
    refusals = [fact.fields["errors"] for fact in network.facts("feature-update-refused")]
    assert [list(errors) for errors in refusals] == [["metadata.version"], ["share.version"]]
    assert "not found out in time" in refusals[1]["share.version"]
    network.heal()
    assert told(second.ask(request(("group.version", 1, UPGRADE)), 2))[0] == ErrorCode.NONE


def test_an_update_that_is_not_committed_in_time_is_told_to_be_so_and_may_still_be():
    network = a_cluster(brokers=0)
    leader = network.active
    client = network.client(leader.config.node_id)
    for host in network.hosts.values():
        if host is not leader:
            network.isolate(host.config.node_id)
    asked_ms = network.now_ms
    waits = client.send(request(("group.version", 1, UPGRADE), timeout_ms=700), 2)
    network.run_until(lambda: waits in client.answers)
    code, message, _ = told(client.answers[waits])
    assert code == ErrorCode.REQUEST_TIMED_OUT
    assert "was not committed in time" in message
    assert network.now_ms == asked_ms + 700
    assert leader.running.is_active_controller
    network.heal()
    network.run_until(lambda: levels(network).get("group.version"))


@pytest.mark.slow
def test_whoever_led_when_an_update_was_begun_does_not_end_it_as_another():
    network = a_cluster()
    with_share_group(network)
    assert ask(network, ("share.version", 1, UPGRADE))[0] == ErrorCode.NONE
    old = network.active
    network.isolate(BROKER_ID)
    client = network.client(old.config.node_id)
    waits = client.send(request(("share.version", 0, SAFE), timeout_ms=30_000), 2)
    network.settle()
    network.isolate(old.config.node_id)
    network.run_until(lambda: waits in client.answers)
    assert client.answers[waits].error_code == ErrorCode.NOT_CONTROLLER


@pytest.mark.slow
def test_a_fault_in_what_is_decided_of_a_survey_ends_the_leadership_alone(monkeypatch):
    network = a_cluster()
    with_share_group(network)
    assert ask(network, ("share.version", 1, UPGRADE))[0] == ErrorCode.NONE
    monkeypatch.setattr(CoordinatorUse, "cut_off", lambda _self, name: 1 / len(name[:0]))
    code, _, _ = ask(network, ("share.version", 0, SAFE))
    assert code == ErrorCode.NOT_CONTROLLER
    (failed,) = network.facts("controller-failed")
    assert "ZeroDivisionError" in failed.fields["traceback"]
    network.run_until(lambda: network.active)


def test_what_a_node_tells_of_updates_is_what_its_metrics_count():
    network = a_cluster(brokers=0)
    assert ask(network, ("metadata.version", 17, SAFE), dry=True)[0] == ErrorCode.NONE
    assert ask(network, ("metadata.version", 99, UPGRADE))[0] == ErrorCode.INVALID_UPDATE_VERSION
    facts = FeatureUpdateFacts()
    for host in network.hosts.values():
        for fact in host.facts:
            facts.count(fact)
    (refused,) = network.facts("feature-update-refused")
    assert facts.blockers == {"metadata.version": len(refused.fields["blockers"])}
    assert facts.blockers["metadata.version"] >= 1
    assert facts.losses == {}
