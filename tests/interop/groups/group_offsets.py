"""The committed offsets that a coordinator serves.

Read through kafka-python: librdkafka's AdminClient aborts the process if the broker is no longer the coordinator.
"""

from kafka import KafkaAdminClient

# Offset, leader epoch and metadata by topic and partition.
Committed = dict[tuple[str, int], tuple[int, int | None, str]]


def committed(servers: str, group: str) -> Committed:
    """All offsets of the group. Raises kafka.errors.KafkaError while no coordinator answers."""
    client = KafkaAdminClient(bootstrap_servers=servers.split(","))
    try:
        offsets = client.list_group_offsets(group)[group]
    finally:
        client.close()
    return {
        (partition.topic, partition.partition): (found.offset, _epoch(found.leader_epoch), found.metadata or "")
        for partition, found in offsets.items()
    }


def _epoch(epoch: int) -> int | None:
    return None if epoch < 0 else epoch
