"""Cluster states that require killed nodes."""

import time
from collections.abc import Callable
from typing import Any

from kafka_cluster import COMBINED, KafkaCluster
from kafka_java import answers
from kafka_node import BROKER

# One node keeps the quorum while the others, brokers only, are killed.
ELR_ROLES = {1: COMBINED, 2: (BROKER,), 3: (BROKER,)}
_DEADLINE_S = 60


def put_elr_in_use(cluster: KafkaCluster) -> dict[str, Any]:  # Any: a JSON document
    """Kill brokers 3 and 2 of a seeded cluster of ELR_ROLES, and return its leadership then; node 1 goes on running.

    Seed's topic "replicated" (3 replicas) then has one in-sync replica left and eligible leader replicas; "pair" (only
    on brokers 2 and 3) has no leader, an empty ISR, and eligible leader replicas. Needs 4.0 or later with
    eligible.leader.replicas.version 1.
    """
    cluster.nodes[3].kill()
    await_leadership(cluster, lambda state: state["brokers"] == [1, 2])
    cluster.nodes[2].kill()
    return await_leadership(cluster, lambda state: state["brokers"] == [1])


def await_leadership(
    cluster: KafkaCluster, wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:  # Any: a JSON document
    """Poll leaders, in-sync replicas and live brokers until they are as wanted; raises TimeoutError."""
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        state: dict[str, Any] = answers(cluster.running_servers, "--sections", "leadership")["leadership"]
        if wanted(state):
            return state
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {_DEADLINE_S} s; the last state was {state}")
