"""The znode of the cluster's id: `/cluster/id`."""

from __future__ import annotations

from typing import Final

from falkirk.metadata.zookeeper.znode_json import TEXT_BYTES_MAX, read_object, write_json

CLUSTER_ID_PATH: Final = "/cluster/id"


def encode_cluster_id(cluster_id: str) -> bytes:
    """Encode the id. Its version is a text, as in Kafka."""
    return write_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes, path: str = CLUSTER_ID_PATH) -> str:
    """Decode the id, of any version of the schema. Raises ZnodeError if there is none."""
    znode = read_object(data, path)
    cluster_id = znode.text("id")
    if not 0 < len(cluster_id.encode()) <= TEXT_BYTES_MAX:
        raise znode.fault(f"id is not a text of 1 to {TEXT_BYTES_MAX} bytes")
    return cluster_id
