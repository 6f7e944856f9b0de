"""What a lift asks brokers for: those of its file, and those that it began with where these are down."""

import asyncio

import msgspec
from fake_node import FakeNode, api_versions_response, ranges
from lift_fakes import LOW, originals

from falkirk.client.config import ClientConfig
from falkirk.lift.journal import Entry, Journal, OriginalBroker, VoterListener
from falkirk.lift.lift import Lift, LiftConnections
from falkirk.lift.lift_file import LiftFile
from falkirk.protocol.messages import DescribeClusterResponse
from falkirk.protocol.messages.api_versions_response import FinalizedFeatureKey
from falkirk.versions.metadata_version import METADATA_VERSION

RANGES = ranges(api18="0-4", api60="0-2")
API_VERSIONS = 18
NOBODY = VoterListener(name="CONTROLLER", host="127.0.0.1", port=9)


def test_where_the_brokers_of_the_file_are_down_the_others_say_the_level(tmp_path):
    def answer(received):
        if received.api_key != API_VERSIONS:
            return DescribeClusterResponse(cluster_id="c")
        key = FinalizedFeatureKey(METADATA_VERSION, LOW, LOW)
        return api_versions_response(RANGES, finalized_features=[key], finalized_features_epoch=7)

    async def story():
        async with FakeNode(RANGES, answer) as node:
            before = originals()
            broker = OriginalBroker(node_id=12, host=node.endpoint.host, port=node.endpoint.port)
            voters = tuple(msgspec.structs.replace(voter, listeners=(NOBODY,)) for voter in before.voters)
            fields = msgspec.to_builtins(msgspec.structs.replace(before, brokers=(broker,), voters=voters))
            Journal(tmp_path).append(Entry(at_ms=1, event="originals", fields=fields))
            file = LiftFile(bootstrap_servers=["127.0.0.1:9"], target="3.9", place="in-place", state=str(tmp_path))
            config = ClientConfig()
            return await Lift(file, LiftConnections(brokers=config, controllers=config)).status()

    assert asyncio.run(story()).level == "3.9-IV0"
