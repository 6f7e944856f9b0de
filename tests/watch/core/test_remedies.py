"""A remedy is a command that can be copied as it is: with the cluster's own servers, and names quoted."""

import shlex

import pytest
from metadata_files import batch_of

from falkirk.ledger.findings import Blocker, BlockerKind
from falkirk.metadata.image.configs import GROUP
from falkirk.metadata.losses.loss import UNKNOWN_TAG
from falkirk.metadata.losses.loss_catalogue import CATALOGUE
from falkirk.protocol.messages import ConfigRecord, FeatureLevelRecord
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion
from falkirk.watch.core.cluster import ClusterState, load_ledger
from falkirk.watch.core.freshness import GROUPS, METADATA
from falkirk.watch.core.remedies import remedy_of, remedy_of_blocker
from falkirk.watch.watch_file import WatchedCluster

LEVEL = MetadataVersion.parse("4.4-IV1").level
NOW = 1_700_000_000_000
CONNECTION = "--bootstrap-server a:1,b:2"
HOSTILE = "x'; rm -rf / #"


def test_a_command_reaches_the_cluster_as_the_watch_does():
    cluster = WatchedCluster(name="prod", bootstrap_servers=["a:1", "b:2"], command_config="my client.properties")
    assert cluster.connection == "--bootstrap-server a:1,b:2 --command-config 'my client.properties'"


def test_names_of_objects_are_quoted():
    fields = {"resource_type": GROUP, "resource": HOSTILE, "config": "consumer.session.timeout.ms"}
    for kind, own in (("group_config", fields), ("share_group", {"group": HOSTILE})):
        words = shlex.split(remedy_of(kind, own, CONNECTION).command)
        assert HOSTILE in words
        assert words[1:3] == ["--bootstrap-server", "a:1,b:2"]


def test_a_loss_that_is_found_has_the_command_for_its_cluster():
    records = [
        (FeatureLevelRecord("metadata.version", LEVEL), 0),
        (ConfigRecord(GROUP, "billing", "consumer.session.timeout.ms", "50000"), 0),
    ]
    state = ClusterState("prod", connection=CONNECTION)
    state.begin("yylGo1ijR1acfIGbD1wMdA", {})
    state.set_metadata(
        load_ledger(None, [batch_of([encode_metadata_record(*each) for each in records], 0, "0.log")]), NOW
    )
    for source in (METADATA, GROUPS):
        state.read(source, NOW)
    [command] = {loss.command for loss in state.findings(NOW).losses}
    assert command == (
        f"kafka-configs.sh {CONNECTION} --alter --entity-type groups --entity-name billing "
        "--delete-config consumer.session.timeout.ms"
    )


@pytest.mark.parametrize("kind", sorted({rule.kind for rule in CATALOGUE} - {UNKNOWN_TAG}))
def test_no_loss_of_the_catalogue_that_can_close_a_way_is_without_a_remedy_of_its_own(kind):
    can_close = any(rule.kind == kind and (rule.level is None or rule.elr or rule.level > 19) for rule in CATALOGUE)
    own = remedy_of(kind, {"resource_type": 2, "resource": "t", "config": "c", "group": "g", "broker": 1}, CONNECTION)
    assert not can_close or own.text != remedy_of("no such kind", {}, CONNECTION).text


def blocker(kind, **fields):
    return Blocker(kind=kind, fields=fields, text="")


def test_a_broker_is_to_be_unregistered_only_where_it_is_fenced():
    unsupporting = blocker(BlockerKind.UNSUPPORTING_NODE, node_id=7, role="broker")
    assert remedy_of_blocker(unsupporting, CONNECTION, is_fenced=False).command is None
    gone = remedy_of_blocker(unsupporting, CONNECTION, is_fenced=True).command
    assert gone == f"falkirk brokers unregister {CONNECTION} --id 7"


def test_replicas_that_lack_are_listed_by_a_command():
    lacking = remedy_of_blocker(blocker(BlockerKind.BELOW_FULL_ISR), CONNECTION, is_fenced=False)
    assert lacking.command == f"kafka-topics.sh {CONNECTION} --describe --under-replicated-partitions"
