"""`falkirk groups` as a shell sees it; `tests/interop/groups` compares all forms with the real tools'."""

import json
import socket

import pytest
from group_records import Log, member
from group_servers import GroupServers
from made_clusters import MadeCluster, group_batches

from falkirk.cli.groups.reset_options import parse_scenario
from falkirk.operations.offset_reset import ToTime
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupDescribeResponse,
    DeleteGroupsResponse,
    DescribeConfigsResponse,
    FetchResponse,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetFetchResponse,
    consumer_group_describe_response,
    describe_configs_response,
    fetch_response,
    incremental_alter_configs_response,
    list_config_resources_response,
    offset_commit_response,
    offset_fetch_response,
)
from falkirk.protocol.messages.delete_groups_response import DeletableGroupResult
from falkirk.protocol.messages.list_groups_response import ListedGroup

MEMBER = consumer_group_describe_response.Member
GROUPS_TOPIC = "__consumer_offsets"


@pytest.fixture
def servers():
    with GroupServers().running() as found:
        found.answers[16] = ListGroupsResponse(groups=[ListedGroup("g", "consumer", "Stable", "consumer")])
        yield found


def assigned(*partitions):
    topic = consumer_group_describe_response.TopicPartitions(topic_name="t", partitions=partitions)
    return consumer_group_describe_response.Assignment([topic] if partitions else [])


def describing(state, *members):
    def answer(message):
        return ConsumerGroupDescribeResponse(
            groups=[
                consumer_group_describe_response.DescribedGroup(
                    group_id=each,
                    group_state=state,
                    group_epoch=5,
                    assignment_epoch=4,
                    assignor_name="uniform",
                    members=list(members),
                )
                for each in message.group_ids
            ]
        )

    return answer


def committing(*offsets):
    partitions = [offset_fetch_response.OffsetFetchResponsePartitions(at, offset, 1) for at, offset in offsets]
    topics = [offset_fetch_response.OffsetFetchResponseTopics("t", partitions=partitions)]
    return lambda message: OffsetFetchResponse(
        groups=[offset_fetch_response.OffsetFetchResponseGroup(each.group_id, topics) for each in message.groups]
    )


# --- list


def test_lists_have_the_columns_that_are_asked_for(servers, falkirk):
    where = ("--bootstrap-server", servers.servers)
    assert falkirk("groups", "list", *where).stdout == "g\n"
    both = falkirk("groups", "list", "--type", "--state", "stable", *where)
    assert both.stdout.splitlines() == [
        f"{'GROUP':<25} {'TYPE':<20} {'STATE':<20}",
        f"{'g':<25} {'Consumer':<20} {'Stable':<20}",
    ]
    every = falkirk("groups", "list", "--all-types", *where)
    assert every.stdout.splitlines()[1] == f"{'g':<20} {'Consumer':<20} {'consumer':<20} "
    told = json.loads(falkirk("groups", "list", "--share", "--json", *where).stdout)
    assert told == {"groups": []}


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--state", "bogus"),
        ("list", "--all-types", "--type", "classic"),
        ("describe",),
        ("describe", "--group", "g", "--all-groups"),
        ("reset-offsets", "--group", "g", "--all-topics"),
        ("reset-offsets", "--group", "g", "--all-topics", "--to-latest", "--to-current"),
        ("delete-offsets", "--group", "g"),
        ("check", "--to", "3.9"),
    ],
)
def test_wrong_usage_ends_with_2(falkirk, words):
    where = () if words[0] == "check" else ("--bootstrap-server", "127.0.0.1:1")
    answer = falkirk("groups", *words, *where)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert answer.stderr.strip()


def test_a_server_has_to_be_named(falkirk):
    answer = falkirk("groups", "list")
    assert (answer.exit_code, answer.stderr) == (2, "name the brokers with --bootstrap-server\n")


# --- describe


def test_nothing_takes_longer_than_the_timeout_a_server_that_says_nothing_at_all_included(falkirk):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        ended = falkirk("groups", "list", "--timeout", "100", "--bootstrap-server", server)
    assert (ended.exit_code, ended.stderr) == (1, f"{server}: no answer to ApiVersions within 100 ms\n")


def test_a_group_with_members_of_both_protocols_says_who_is_upgraded(servers, falkirk):
    old = MEMBER(
        member_id="m1", client_id="c", client_host="/h", member_epoch=4, assignment=assigned(1, 0), member_type=0
    )
    new = MEMBER(member_id="m2", instance_id="i", member_epoch=4, target_assignment=assigned(2), member_type=1)
    servers.answers[69] = describing("Reconciling", old, new)
    answer = falkirk(
        "groups", "describe", "--group", "g", "--members", "--verbose", "--bootstrap-server", servers.servers
    )
    assert answer.exit_code == 0
    assert answer.stderr == "\nWarning: Consumer group 'g' is rebalancing.\n"
    empty, head, first, second = answer.stdout.splitlines()
    assert empty == ""
    assert head.split() == [
        "GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "CURRENT-EPOCH",
        "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED",
    ]  # fmt: skip
    assert first.split() == ["g", "m1", "/h", "c", "2", "4", "t:0,1", "4", "-", "false"]
    assert second.split() == ["g", "m2", "i", "0", "4", "-", "4", "t:2", "true"]


def test_partitions_come_with_their_lag_and_those_without_a_leader_are_told_too(servers, falkirk):
    servers.answers[69] = describing("Stable", MEMBER(member_id="m", client_host="/h", assignment=assigned(0, 1)))
    servers.answers[9] = committing((0, 7), (2, 3), (9, 1))
    servers.leaders = {"t": {0: 1, 1: 2, 2: -1}}
    servers.offsets = {("t", 0): (0, 10), ("t", 1): (0, 4)}
    where = ("--bootstrap-server", servers.servers)
    lines = falkirk("groups", "describe", "--group", "g", "--verbose", *where).stdout.splitlines()[2:]
    assert [line.split()[1:9] for line in lines] == [
        ["t", "0", "1", "7", "10", "3", "m", "/h"],
        ["t", "1", "-", "-", "4", "-", "m", "/h"],
        ["t", "2", "1", "3", "-", "-", "-", "-"],
        ["t", "9", "1", "1", "-", "-", "-", "-"],
    ]
    [group] = json.loads(falkirk("groups", "describe", "--all-groups", "--json", *where).stdout)["groups"]
    assert (group["type"], group["group_epoch"], group["members"][0]["assignment"]) == ("Consumer", 5, {"t": [0, 1]})
    assert [each["lag"] for each in group["offsets"]] == [3, None, None, None]


# --- reset, delete


def test_offsets_are_set_only_where_that_is_said_and_only_of_groups_without_members(servers, falkirk):
    words = ("groups", "reset-offsets", "--group", "g", "--topic", "t:0", "--to-offset", "99")
    where = ("--bootstrap-server", servers.servers)
    servers.answers[69] = describing("Empty")
    servers.answers[9] = committing((0, 7))
    topic = offset_commit_response.OffsetCommitResponseTopic(
        "t", partitions=[offset_commit_response.OffsetCommitResponsePartition(0)]
    )
    servers.answers[8] = OffsetCommitResponse(topics=[topic])
    servers.leaders, servers.offsets = {"t": {0: 1}}, {("t", 0): (2, 10)}
    dry = falkirk(*words, "--dry-run", *where)
    assert (dry.exit_code, servers.of(8)) == (0, [])
    assert "New offset (99) is higher than latest offset for topic partition t-0. Value will be set to 10" in dry.stderr
    done = falkirk(*words, "--execute", "--export", *where)
    assert (done.exit_code, done.stdout) == (0, "t,0,10\n\n")
    [(_, message)] = servers.of(8)
    assert message.topics[0].partitions[0].committed_offset == 10
    servers.answers[69] = describing("Stable", MEMBER(member_id="m"))
    refused = falkirk(*words, "--execute", "--json", *where)
    assert refused.exit_code == 1
    assert json.loads(refused.stdout)["groups"][0]["offsets"] == []
    assert len(servers.of(8)) == 1


@pytest.mark.parametrize(
    ("duration", "ms"),
    [("P1D", 86_400_000), ("PT1H30M", 5_400_000), ("PT-2.5S", -2500), ("-P1DT1S", -86_401_000), ("pt1m", 60_000)],
)
def test_durations_are_read_as_java_does(duration, ms):
    assert parse_scenario(by_duration=duration, now_ms=1_000_000) == ToTime(1_000_000 - ms)


def test_groups_that_are_not_deleted_are_told_beside_those_that_are(servers, falkirk):
    servers.answers[42] = DeleteGroupsResponse(
        results=[DeletableGroupResult("a", 0), DeletableGroupResult("b", ErrorCode.NON_EMPTY_GROUP)]
    )
    answer = falkirk("groups", "delete", "--group", "a", "--group", "b", "--bootstrap-server", servers.servers)
    assert answer.exit_code == 1
    assert answer.stdout == (
        "\nError: Deletion of some consumer groups failed:\n"
        "* Group 'b' could not be deleted due to: org.apache.kafka.common.errors.GroupNotEmptyException: "
        "The group is not empty.\n\nThese consumer groups were deleted successfully: 'a'\n"
    )


# --- check


def written_by_4_3():
    """Groups of a 4.3: a 4.0 does not load the record at offset 3."""
    log = Log("4.3")
    log.classic("classic", "m1")
    log.commit("classic")
    log.value(3, "modern", epoch=2)
    log.value(15, "shared")
    log.value(5, member("modern"))
    log.commit("modern")
    return log


def fetching(entries):
    records = b"".join(group_batches(entries))
    partition = fetch_response.PartitionData(high_watermark=len(entries), records=records)
    return FetchResponse(responses=[fetch_response.FetchableTopicResponse(GROUPS_TOPIC, partitions=[partition])])


def with_group_configs(servers, *names):
    resource = list_config_resources_response.ConfigResource("modern", 32)
    servers.answers[74] = ListConfigResourcesResponse(config_resources=[resource])
    configs = [describe_configs_response.DescribeConfigsResourceResult(name, "1", config_source=8) for name in names]
    result = describe_configs_response.DescribeConfigsResult(resource_type=32, resource_name="modern", configs=configs)
    servers.answers[32] = DescribeConfigsResponse(results=[result])


@pytest.fixture
def with_groups(servers):
    servers.leaders, servers.offsets = {GROUPS_TOPIC: {0: 2}}, {(GROUPS_TOPIC, 0): (0, 6)}
    servers.answers[1] = fetching(written_by_4_3().entries)
    with_group_configs(servers, "consumer.session.timeout.ms", "share.isolation.level")
    return servers


def test_a_running_cluster_is_checked_by_what_its_partitions_hold(with_groups, falkirk):
    answer = falkirk("groups", "check", "--to", "4.0", "--bootstrap-server", with_groups.servers)
    assert answer.exit_code == 3
    assert answer.stdout.splitlines()[0].startswith(
        "__consumer_offsets-0 would not load: offset 3, share group state partition metadata (15) of group shared: "
    )
    assert "config of group modern: share.isolation.level=1: Kafka 4.0 has no such config of groups" in answer.stdout
    assert "session.timeout" not in answer.stdout
    assert answer.stdout.splitlines()[-1].startswith("Kafka 4.0: 0 of 1 partitions load, ")


def test_brokers_of_ours_that_are_tolerant_load_what_kafka_does_not(with_groups, falkirk):
    with_group_configs(with_groups)
    words = ("groups", "check", "--to", "4.0", "--tolerant", "--bootstrap-server", with_groups.servers)
    assert falkirk(*words).stdout.splitlines() == [
        "group shared (share, 0 members): not readable: 1 group",
        "1 records of share group state partition metadata (15) are skipped",
        "falkirk as 4.0, tolerant: 1 of 1 partitions load, 2 of 3 groups are readable as they are",
    ]
    document = json.loads(falkirk(*words, "--json").stdout)
    assert (document["release"], document["tolerant"], document["partitions"]) == ("4.0.0", True, [])


def test_what_is_read_at_the_target_as_it_is_ends_with_0(with_groups, falkirk):
    with_group_configs(with_groups)
    answer = falkirk("groups", "check", "--to", "4.4", "--bootstrap-server", with_groups.servers, "--json")
    document = json.loads(answer.stdout)
    assert (answer.exit_code, document["readable"], document["partitions"]) == (0, True, [])
    assert {group["verdict"] for group in document["groups"]} == {"readable"}


def test_groups_that_an_old_release_does_not_know_appear_empty_and_their_consumers_are_named(with_groups, falkirk):
    answer = falkirk("groups", "check", "--to", "3.9", "--bootstrap-server", with_groups.servers, "--json")
    document = json.loads(answer.stdout)
    verdicts = {group["group"]: group["verdict"] for group in document["groups"]}
    assert verdicts == {"classic": "readable", "modern": "appears_empty", "shared": "unreadable"}
    assert document["skipped"] == {"3": 1, "5": 1, "15": 1}
    [key] = document["keys"]
    assert (key["where"], key["name"], key["value"]) == ("consumers of group modern", "group.protocol", "consumer")
    assert {config["name"] for config in document["group_configs"]} == {
        "consumer.session.timeout.ms",
        "share.isolation.level",
    }


def test_configs_of_groups_are_removed_where_that_is_said(with_groups, falkirk):
    result = incremental_alter_configs_response.AlterConfigsResourceResponse(resource_name="modern")
    with_groups.answers[44] = IncrementalAlterConfigsResponse(responses=[result])
    words = ("groups", "check", "--to", "4.0", "--delete-group-configs", "--bootstrap-server", with_groups.servers)
    answer = falkirk(*words)
    assert answer.stderr == "removing 1 configs of groups that Kafka 4.0 does not know\n"
    assert "removed config of group modern: share.isolation.level=1" in answer.stdout
    [(_, message)] = with_groups.of(44)
    assert [one.name for each in message.resources for one in each.configs] == ["share.isolation.level"]
    refused = incremental_alter_configs_response.AlterConfigsResourceResponse(
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None, 32, "modern"
    )
    with_groups.answers[44] = IncrementalAlterConfigsResponse(responses=[refused])
    answer = falkirk(*words)
    assert answer.exit_code == 1
    assert "modern: CLUSTER_AUTHORIZATION_FAILED" in answer.stderr


def test_keys_that_a_release_does_not_take_are_named_by_file(with_groups, falkirk, tmp_path):
    broker, consumer = tmp_path / "server.properties", tmp_path / "consumer.properties"
    broker.write_text(
        "node.id=1\ngroup.consumer.assignors=uniform\ngroup.share.enable=true\n"
        "group.coordinator.rebalance.protocols=classic,streams\ngroup.initial.rebalance.delay.ms=soon\n"
    )
    consumer.write_text("group.id=modern\ngroup.protocol=consumer\ngroup.remote.assignor=uniform\n")
    files = ("--properties", broker, "--properties", consumer)
    words = ("groups", "check", "--to", "3.7", *files, "--bootstrap-server", with_groups.servers, "--json")
    keys = json.loads(falkirk(*words).stdout)["keys"]
    assert [(key["where"], key["name"]) for key in keys] == [
        (str(broker), "group.coordinator.rebalance.protocols"),
        (str(broker), "group.initial.rebalance.delay.ms"),
        (str(broker), "group.share.enable"),
        (str(consumer), "group.protocol"),
        (str(consumer), "group.remote.assignor"),
        ("consumers of group modern", "group.protocol"),
    ]


def test_a_leader_that_moves_meanwhile_and_a_batch_that_is_cut_are_no_end(with_groups, falkirk):
    whole = fetching(written_by_4_3().entries)
    cut = fetching(written_by_4_3().entries)
    cut.responses[0].partitions[0].records = cut.responses[0].partitions[0].records[:-5]
    moved = fetching([])
    moved.responses[0].partitions[0].error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    with_groups.answers[1] = [moved, cut, whole]
    answer = falkirk("groups", "check", "--to", "4.4", "--bootstrap-server", with_groups.servers, "--json")
    assert len(json.loads(answer.stdout)["groups"]) == 3
    assert [message.topics[0].partitions[0].fetch_offset for _, message in with_groups.of(1)] == [0, 0, 3]


def test_directories_are_checked_by_the_same_function(tmp_path, falkirk):
    partitions = {"__consumer_offsets-0": group_batches(written_by_4_3().entries)}
    made = MadeCluster(root=tmp_path / "data", level=25, partitions=partitions).make()
    answer = falkirk("groups", "check", made.root, "--to", "4.0", "--json")
    document = json.loads(answer.stdout)
    assert (answer.exit_code, [(each["partition"], each["offset"]) for each in document["partitions"]]) == (3, [(0, 3)])
    assert document["tolerant"] is False
    tolerated = json.loads(falkirk("groups", "check", made.root, "--to", "4.0", "--tolerant", "--json").stdout)
    assert (tolerated["tolerant"], tolerated["partitions"]) == (True, [])
    refused = falkirk("groups", "check", made.root, "--to", "4.0", "--delete-group-configs")
    assert refused.exit_code == 2
