"""The active one of several controllers, and brokers that it considers alive."""

import time
from collections.abc import Sequence

from falkirk.protocol.messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)
from falkirk.protocol.messages.broker_registration_request import Feature, Listener
from falkirk.protocol.messages.describe_quorum_request import PartitionData, TopicData
from falkirk.versions.release import Release
from support.kafka_peer import RELEASE
from support.load import ask
from support.server import CLUSTER_ID, Server

BROKERS = (101, 102, 103)
# Until a large snapshot is loaded, too.
WAIT_S = 300


def active_controller(servers: Sequence[Server]) -> Server:
    """Wait until one leads, and return it."""
    request = DescribeQuorumRequest([TopicData("__cluster_metadata", [PartitionData(0)])])
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        for server in servers:
            answer = ask(server.controller_port, request, 2, DescribeQuorumResponse)
            if answer.error_code == 0 and answer.topics[0].partitions[0].error_code == 0:
                return server
        time.sleep(0.1)
    raise RuntimeError("no controller leads")


def register_brokers(active: Server) -> None:
    """Register and unfence brokers; none needs another heartbeat for an hour."""
    for broker_id in BROKERS:
        epoch = ask(active.controller_port, _registration(broker_id), 4, BrokerRegistrationResponse).broker_epoch
        heartbeat = BrokerHeartbeatRequest(broker_id, epoch, current_metadata_offset=epoch, want_fence=False)
        deadline = time.monotonic() + WAIT_S
        while ask(active.controller_port, heartbeat, 1, BrokerHeartbeatResponse).is_fenced:
            assert time.monotonic() < deadline, f"broker {broker_id} stays fenced"
            time.sleep(0.1)


def _registration(broker_id: int) -> BrokerRegistrationRequest:
    supported = Release.parse(RELEASE).supported_features()
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=CLUSTER_ID,
        incarnation_id=_uuid(1, broker_id),
        listeners=[Listener("PLAINTEXT", "127.0.0.1", 9092, 0)],
        features=[Feature(name, levels.lowest, levels.highest) for name, levels in supported.items()],
        rack=None,
        log_dirs=(_uuid(2, broker_id),),
    )


def _uuid(kind: int, broker_id: int) -> bytes:
    """Return an id that is none of the reserved ones, which begin with zeros."""
    return bytes([0x4F, kind, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0]) + broker_id.to_bytes(4, "big")
