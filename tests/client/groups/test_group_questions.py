"""Groups are listed, described and changed alike whatever a broker's release can say."""

import pytest
from group_servers import NEW, OLD, GroupServers

from falkirk.client.admin import AsyncAdmin
from falkirk.client.config import ClientConfig, parse_servers
from falkirk.client.errors import NodeRefusedError
from falkirk.client.event_loop import run
from falkirk.client.groups.blocking import GroupAdmin
from falkirk.client.groups.configs import delete_group_configs, group_configs
from falkirk.client.groups.description import describe_groups
from falkirk.client.groups.listing import list_groups
from falkirk.client.groups.offsets import alter_group_offsets, delete_group_offsets, list_group_offsets
from falkirk.client.refusal import Refusal
from falkirk.protocol.codec import encode
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    ConsumerGroupDescribeResponse,
    ConsumerProtocolAssignment,
    DescribeConfigsResponse,
    DescribeGroupsResponse,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesResponse,
    ListGroupsResponse,
    OffsetCommitResponse,
    OffsetDeleteResponse,
    OffsetFetchResponse,
    consumer_group_describe_response,
    consumer_protocol_assignment,
    describe_configs_response,
    describe_groups_response,
    incremental_alter_configs_response,
    list_config_resources_response,
    offset_commit_response,
    offset_delete_response,
    offset_fetch_response,
)
from falkirk.protocol.messages.list_groups_response import ListedGroup
from falkirk.protocol.topic_partition import TopicPartition
from falkirk.versions.negotiation import UnsupportedApiError

CONFIG = ClientConfig(retry_backoff_ms=1)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def asked_of(servers, question, *arguments, **options):
    async def scenario():
        async with servers, AsyncAdmin([servers.nodes[0].endpoint], CONFIG) as admin:
            return await question(admin, *arguments, **options)

    return run(scenario())


# --- listing


def listed(*groups):
    return ListGroupsResponse(groups=list(groups))


def test_every_broker_lists_its_own_and_types_are_written_as_the_tools_do():
    servers = GroupServers()
    first = listed(ListedGroup("b", "consumer", "Stable", "consumer"), ListedGroup("s", "share", "Stable", "share"))
    second = listed(ListedGroup("a", "", "Empty", "classic"))
    servers.answers[16] = [first, second]
    found = asked_of(servers, list_groups)
    assert [(each.group_id, each.type, each.is_simple) for each in found] == [
        ("a", "Classic", True),
        ("b", "Consumer", False),
        ("s", "Share", False),
    ]


def test_states_types_and_protocols_are_asked_for():
    servers = GroupServers()
    servers.answers[16] = listed(ListedGroup("c", "connect", "Stable", "Classic"), ListedGroup("g", "consumer"))
    found = asked_of(servers, list_groups, types=["Consumer"], states=["Stable"], protocol_types=["consumer"])
    assert [each.group_id for each in found] == ["g"]
    assert {(message.types_filter, message.states_filter) for _, message in servers.of(16)} == {
        (("Consumer",), ("Stable",))
    }


def test_a_broker_that_knows_no_types_has_classic_groups_only():
    servers = GroupServers(OLD)
    servers.answers[16] = listed(ListedGroup("g", "consumer"))
    [group] = asked_of(servers, list_groups, types=["Classic", "Consumer"])
    assert (group.type, group.state) == (None, None)
    with pytest.raises(UnsupportedApiError):
        asked_of(GroupServers(OLD), list_groups, types=["Consumer"])
    with pytest.raises(UnsupportedApiError):
        asked_of(GroupServers(OLD), list_groups, states=["Stable"])


def test_a_coordinator_that_loads_is_asked_again_for_its_groups():
    servers = GroupServers()
    loading = ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    servers.answers[16] = [loading, loading, listed(ListedGroup("g"))]
    assert [each.group_id for each in asked_of(servers, list_groups)] == ["g"]
    servers = GroupServers()
    servers.answers[16] = ListGroupsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    with pytest.raises(NodeRefusedError, match="CLUSTER_AUTHORIZATION_FAILED"):
        asked_of(servers, list_groups)


# --- describing


def modern_group(group_id, *members):
    return consumer_group_describe_response.DescribedGroup(
        group_id=group_id,
        group_state="Stable",
        group_epoch=4,
        assignment_epoch=3,
        assignor_name="uniform",
        members=list(members),
    )


def modern_refusal(code):
    return lambda message: ConsumerGroupDescribeResponse(
        groups=[
            consumer_group_describe_response.DescribedGroup(error_code=code, group_id=each)
            for each in message.group_ids
        ]
    )


def classic_group(group_id, *, protocol_type="consumer", assignment=b""):
    member = describe_groups_response.DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_assignment=assignment
    )
    return describe_groups_response.DescribedGroup(
        group_id=group_id, group_state="Stable", protocol_type=protocol_type, protocol_data="range", members=[member]
    )


def assignment(version):
    topics = [consumer_protocol_assignment.TopicPartition("t", (0, 1))]
    return version.to_bytes(2, "big") + encode(ConsumerProtocolAssignment(topics), min(version, 3))


def test_a_group_of_the_new_type_has_epochs_and_targets():
    servers = GroupServers()
    assigned = consumer_group_describe_response.Assignment(
        [consumer_group_describe_response.TopicPartitions(topic_name="t", partitions=(0, 1))]
    )
    member = consumer_group_describe_response.Member(member_id="m", member_epoch=3, assignment=assigned, member_type=0)
    servers.answers[69] = ConsumerGroupDescribeResponse(groups=[modern_group("g", member)])
    group = asked_of(servers, describe_groups, ["g"])["g"]
    assert (group.type, group.state, group.assignor, group.group_epoch) == ("Consumer", "Stable", "uniform", 4)
    [told] = group.members
    assert (told.assignment, told.target, told.member_epoch, told.is_upgraded) == ((T0, T1), (), 3, False)
    assert group.coordinator.node_id == 1


@pytest.mark.parametrize("code", [ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION])
@pytest.mark.parametrize("version", [0, 3, 9])
def test_another_group_is_asked_for_as_a_classic_one(code, version):
    servers = GroupServers()
    servers.answers[69] = modern_refusal(code)
    servers.answers[15] = DescribeGroupsResponse(groups=[classic_group("g", assignment=assignment(version))])
    group = asked_of(servers, describe_groups, ["g"])["g"]
    assert (group.type, group.assignor, group.group_epoch, group.is_simple) == ("Classic", "range", None, False)
    assert group.members[0].assignment == (T0, T1)


def test_an_old_broker_is_asked_for_classic_groups_at_once():
    servers = GroupServers(OLD)
    servers.answers[15] = DescribeGroupsResponse(groups=[classic_group("g", assignment=assignment(1))])
    assert asked_of(servers, describe_groups, ["g"])["g"].members[0].assignment == (T0, T1)


def test_what_is_no_consumer_group_and_what_is_not_there_is_refused_alone():
    servers = GroupServers()
    servers.answers[69] = modern_refusal(ErrorCode.GROUP_ID_NOT_FOUND)
    missing = describe_groups_response.DescribedGroup(
        error_code=ErrorCode.GROUP_ID_NOT_FOUND, error_message="Group n not found.", group_id="n"
    )
    broken = classic_group("b", assignment=b"\0\1\0\0")
    groups = [classic_group("c", protocol_type="connect"), missing, broken, classic_group("g")]
    servers.answers[15] = DescribeGroupsResponse(groups=groups)
    found = asked_of(servers, describe_groups, ["c", "n", "b", "g"])
    assert found["c"].message == "GroupId c is not a consumer group (connect)."
    assert found["n"] == Refusal(ErrorCode.GROUP_ID_NOT_FOUND, "Group n not found.")
    assert "cannot be read" in found["b"].message
    assert found["g"].members[0].assignment == ()


# --- offsets


@pytest.mark.parametrize("api_ranges", [NEW, OLD])
def test_committed_offsets_are_those_that_a_group_has(api_ranges):
    servers = GroupServers(api_ranges)
    partition = offset_fetch_response.OffsetFetchResponsePartitions
    told = [partition(0, 7, 2), partition(1, -1), partition(2, 3, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)]
    if api_ranges is NEW:
        topics = [offset_fetch_response.OffsetFetchResponseTopics("t", partitions=told)]
        group = offset_fetch_response.OffsetFetchResponseGroup("g", topics)
        refused = offset_fetch_response.OffsetFetchResponseGroup("h", error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        servers.answers[9] = OffsetFetchResponse(groups=[group, refused])
    else:
        single = [offset_fetch_response.OffsetFetchResponsePartition(*each[:3]) for each in ((0, 7, 2), (1, -1, -1))]
        topics = [offset_fetch_response.OffsetFetchResponseTopic("t", single)]
        first = OffsetFetchResponse(topics=topics)
        servers.answers[9] = [first, OffsetFetchResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)]
    found = asked_of(servers, list_group_offsets, ["g", "h"])
    [(where, offset)] = found["g"].items()
    assert (where, offset.offset, offset.leader_epoch) == (T0, 7, 2)
    assert found["h"] == Refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED)


def test_offsets_are_set_without_being_a_member():
    servers = GroupServers()
    codes = {0: ErrorCode.NONE, 1: ErrorCode.UNKNOWN_MEMBER_ID}
    partitions = [offset_commit_response.OffsetCommitResponsePartition(*each) for each in codes.items()]
    topic = offset_commit_response.OffsetCommitResponseTopic("t", partitions=partitions)
    servers.answers[8] = OffsetCommitResponse(topics=[topic])
    found = asked_of(servers, alter_group_offsets, "g", {T1: 5, T0: 4})
    assert found == {T0: None, T1: Refusal(ErrorCode.UNKNOWN_MEMBER_ID)}
    [(_, message)] = servers.of(8)
    assert (message.generation_id_or_member_epoch, message.member_id) == (-1, "")
    assert [(each.partition_index, each.committed_offset) for each in message.topics[0].partitions] == [(0, 4), (1, 5)]


def test_a_commit_that_meets_a_loading_coordinator_is_made_again():
    servers = GroupServers()

    def committed(code):
        partition = offset_commit_response.OffsetCommitResponsePartition(0, code)
        topic = offset_commit_response.OffsetCommitResponseTopic("t", partitions=[partition])
        return OffsetCommitResponse(topics=[topic])

    servers.answers[8] = [committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), committed(ErrorCode.NONE)]
    assert asked_of(servers, alter_group_offsets, "g", {T0: 4}) == {T0: None}
    assert len(servers.of(8)) == 2


def test_offsets_are_deleted_one_by_one_or_refused_as_a_whole():
    servers = GroupServers()
    partition = offset_delete_response.OffsetDeleteResponsePartition
    told = [partition(0), partition(1, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)]
    topic = offset_delete_response.OffsetDeleteResponseTopic("t", told)
    done = OffsetDeleteResponse(topics=[topic])
    servers.answers[47] = [done, OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)]

    async def scenario():
        async with servers, AsyncAdmin([servers.nodes[0].endpoint], CONFIG) as admin:
            return [await delete_group_offsets(admin, "g", [T0, T1]) for _ in range(2)]

    first, second = run(scenario())
    assert first == {T0: None, T1: Refusal(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)}
    assert second == Refusal(ErrorCode.GROUP_ID_NOT_FOUND)


# --- configs


def described_configs(message):
    result = describe_configs_response.DescribeConfigsResult
    config = describe_configs_response.DescribeConfigsResourceResult
    own = config("consumer.session.timeout.ms", "50000", config_source=8)
    return DescribeConfigsResponse(
        results=[
            result(resource_type=32, resource_name=each.resource_name, configs=[own, config("x", "1", config_source=5)])
            for each in message.resources
        ]
    )


def test_configs_of_groups_are_those_that_are_set_for_them():
    servers = GroupServers()
    resource = list_config_resources_response.ConfigResource("g", 32)
    servers.answers[74] = ListConfigResourcesResponse(config_resources=[resource])
    servers.answers[32] = described_configs
    assert asked_of(servers, group_configs) == {"g": {"consumer.session.timeout.ms": "50000"}}


def test_a_broker_that_cannot_say_which_is_asked_for_each_group_that_exists():
    servers = GroupServers({key: versions for key, versions in NEW.items() if key != 74})
    servers.answers[16] = listed(ListedGroup("g", "consumer"))
    servers.answers[32] = described_configs
    assert asked_of(servers, group_configs) == {"g": {"consumer.session.timeout.ms": "50000"}}
    refused = describe_configs_response.DescribeConfigsResult(error_code=ErrorCode.INVALID_REQUEST)
    servers = GroupServers({key: versions for key, versions in NEW.items() if key != 74})
    servers.answers[16] = listed(ListedGroup("g", "consumer"))
    servers.answers[32] = DescribeConfigsResponse(results=[refused])
    assert asked_of(servers, group_configs) == {}


def test_configs_are_deleted_by_key():
    servers = GroupServers()
    result = incremental_alter_configs_response.AlterConfigsResourceResponse
    servers.answers[44] = IncrementalAlterConfigsResponse(
        responses=[result(resource_name="g"), result(ErrorCode.POLICY_VIOLATION, "no", 32, "h")]
    )
    found = asked_of(servers, delete_group_configs, {"h": ["b"], "g": ["b", "a"]})
    assert found == {"g": None, "h": Refusal(ErrorCode.POLICY_VIOLATION, "no")}
    [(_, message)] = servers.of(44)
    told = [(each.resource_type, each.resource_name, [one.name for one in each.configs]) for each in message.resources]
    assert told == [(32, "g", ["a", "b"]), (32, "h", ["b"])]
    assert {one.config_operation for each in message.resources for one in each.configs} == {1}


def test_a_program_without_an_event_loop_asks_the_same():
    servers = GroupServers()
    servers.coordinators = {"g": 2}
    servers.answers[16] = listed(ListedGroup("g", "consumer", "Stable", "consumer"))
    servers.answers[69] = lambda _: ConsumerGroupDescribeResponse(groups=[modern_group("g")])
    servers.answers[9] = lambda _: OffsetFetchResponse(groups=[offset_fetch_response.OffsetFetchResponseGroup("g")])
    servers.leaders, servers.offsets = {"t": {0: 2}}, {("t", 0): (3, 9)}
    with servers.running(), GroupAdmin(parse_servers(servers.servers), CONFIG) as admin:
        assert [each.group_id for each in admin.list_groups()] == ["g"]
        assert admin.find_coordinators(["g"])["g"].node_id == 2
        assert admin.describe_groups(["g"])["g"].state == "Stable"
        assert admin.list_group_offsets(["g"]) == {"g": {}}
        assert admin.list_offsets([T0], -1) == {T0: 9}
