"""What a cluster shows of itself to who may not see everything."""

from __future__ import annotations

import asyncio

import pytest
from fake_node import FakeNode, ranges

from falkirk.client.errors import ClientError
from falkirk.ledger.findings import BlockerKind
from falkirk.logdir.target import parse_target
from falkirk.mirror.cluster_mirror import LiveSource
from falkirk.operations.errors import OperationError
from falkirk.operations.lift_check import check_lift
from falkirk.operations.lift_observation import METADATA, observe
from falkirk.protocol.endpoint import Endpoint
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.messages import (
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
)
from falkirk.protocol.messages.describe_cluster_response import DescribeClusterBroker
from falkirk.protocol.messages.describe_configs_response import DescribeConfigsResult
from falkirk.protocol.messages.metadata_response import MetadataResponsePartition, MetadataResponseTopic

RANGES = ranges(api18="0-4", api3="10-12", api16="0-5", api32="1-4", api55="0-2", api60="0-2")
REFUSED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class Broker:
    """The only broker, whose user may describe its topic, and nothing of the cluster."""

    def __init__(self, quorum_error=REFUSED, cluster_error=ErrorCode.NONE) -> None:
        self.endpoint = None
        self._quorum_error = quorum_error
        self._cluster_error = cluster_error
        self.questions = []

    def answer(self, received):
        if received.api_key == 18:
            return None
        match received.message():
            case DescribeClusterRequest():
                broker = DescribeClusterBroker(1, self.endpoint.host, self.endpoint.port)
                operations = 0 if received.message().include_cluster_authorized_operations else -1
                return DescribeClusterResponse(
                    error_code=self._cluster_error,
                    cluster_id="c",
                    controller_id=1,
                    brokers=[broker],
                    cluster_authorized_operations=operations,
                )
            case DescribeQuorumRequest():
                self.questions.append("DescribeQuorum")
                return DescribeQuorumResponse(error_code=self._quorum_error)
            case DescribeConfigsRequest():
                return DescribeConfigsResponse(results=[DescribeConfigsResult(error_code=REFUSED)])
            case ListGroupsRequest():
                return ListGroupsResponse(error_code=REFUSED)
            case MetadataRequest():
                self.questions.append("Metadata")
                partitions = [
                    MetadataResponsePartition(partition_index=0, replica_nodes=[1, 2], isr_nodes=[1]),
                    MetadataResponsePartition(partition_index=1, replica_nodes=[1, 2], isr_nodes=[2, 1]),
                ]
                moved = MetadataResponsePartition(0, replica_nodes=[self.questions.count("Metadata")])
                return MetadataResponse(
                    topics=[
                        MetadataResponseTopic(0, "t", bytes(16), partitions=partitions),
                        MetadataResponseTopic(0, "moving", bytes(16), partitions=[moved]),
                    ]
                )


def observed(api_ranges, folder, *, controllers=(), broker=None, **options):
    async def story(broker):
        notices = []
        async with FakeNode(api_ranges, broker.answer) as node:
            broker.endpoint = node.endpoint
            seen = await observe(LiveSource(brokers=(node.endpoint,), controllers=controllers), folder, notices.append)
        assert notices[0] == "asking the brokers"
        return seen

    return asyncio.run(story(broker or Broker(**options)))


def test_what_may_not_be_seen_is_listed_with_the_right_that_it_needs(tmp_path):
    seen = observed(RANGES, tmp_path)
    describe = "DESCRIBE on CLUSTER kafka-cluster for User:ANONYMOUS, at the brokers"
    assert {each.what: str(each.needs) for each in seen.unseen} == {
        "the quorum": describe,
        METADATA: describe,
        "the configs of node 1": describe.replace("DESCRIBE", "DESCRIBE_CONFIGS"),
        "the states of groups": describe,
    }
    assert str(seen.unseen[0]).endswith(f"CLUSTER_AUTHORIZATION_FAILED (needs {describe})")
    assert list(map(str, seen.missing_rights)) == [describe]
    assert (seen.cluster_id, seen.quorum, seen.directory, seen.silent) == ("c", None, None, frozenset())
    assert [str(each.partition) for each in seen.lacking] == ["t-0", "moving-0"]
    assert list(seen.topics) == ["t"], "the other one was changed while the log was read"
    assert list(tmp_path.iterdir()) == []


def test_where_no_controller_leads_the_check_is_blocked_and_no_right_is_missing(tmp_path):
    broker = Broker(quorum_error=ErrorCode.REQUEST_TIMED_OUT)
    seen = observed(RANGES, tmp_path, broker=broker)
    assert broker.questions.count("DescribeQuorum") == 1, "each costs as long as the broker waits for a leader"
    found = check_lift(seen, None, parse_target("3.9"))
    assert found.blockers[0].kind == BlockerKind.INCOMPLETE_METADATA
    assert found.blockers[0].text.startswith(
        f"what would be lost is not known: {METADATA}: no controller leads the quorum, or the brokers do not reach the "
        "one that does ("
    )
    assert found.blockers[0].text.endswith("DescribeQuorum: REQUEST_TIMED_OUT)")
    assert found.way is None


def test_a_broker_that_waits_for_a_leader_is_not_waited_for_as_long_as_for_data(tmp_path, monkeypatch):
    monkeypatch.setattr("falkirk.operations.lift_observation._QUORUM_MS", 50)

    class Waiting(Broker):
        def answer(self, received):
            return None if received.api_key == 55 else super().answer(received)

    seen = observed(RANGES, tmp_path, broker=Waiting())
    assert seen.unseen[0].reason.endswith("no answer to DescribeQuorum within 50 ms)")
    assert seen.unseen[1].reason == seen.unseen[0].reason


def test_a_cluster_without_a_quorum_is_refused(tmp_path):
    without = {key: versions for key, versions in RANGES.items() if key != 55}
    with pytest.raises(OperationError, match="the cluster has no KRaft quorum: it runs on ZooKeeper"):
        observed(without, tmp_path)


def test_a_controller_that_is_named_as_a_broker_is_told_apart(tmp_path):
    with pytest.raises(OperationError, match=r"^127\.0\.0\.1:\d+: a controller listens there, and it is named as a br"):
        observed(RANGES, tmp_path, cluster_error=ErrorCode.MISMATCHED_ENDPOINT_TYPE)


@pytest.mark.parametrize(
    ("controller", "reason"),
    [
        (Endpoint("127.0.0.1", 9), r"127\.0\.0\.1:9: cannot connect: "),
        (Endpoint("a.invalid", 9093), r"a\.invalid:9093: cannot connect: Name or service not known"),
    ],
)
def test_named_controllers_that_are_not_reached_end_the_check(tmp_path, controller, reason):
    with pytest.raises(ClientError, match=f"^{reason}"):
        observed(RANGES, tmp_path, controllers=(controller,))
    assert list(tmp_path.iterdir()) == []
