"""The znodes of the elected controller: `/controller` (ephemeral) and `/controller_epoch`."""

from __future__ import annotations

import re
from typing import Final

from falkirk.metadata.zookeeper.errors import ZnodeError
from falkirk.metadata.zookeeper.znode_json import INT32_MAX, read_object, shown, write_json

CONTROLLER_PATH: Final = "/controller"
CONTROLLER_EPOCH_PATH: Final = "/controller_epoch"

_NOT_KRAFT: Final = -1
_NUMBER = re.compile(r"[0-9]{1,10}")


def encode_controller(broker_id: int, timestamp_ms: int) -> bytes:
    """Encode the controller's id and election time, in version 2 as Kafka 3.4 to 3.9: no KRaft controller (KIP-866)."""
    return write_json(
        {"version": 2, "brokerid": broker_id, "timestamp": str(timestamp_ms), "kraftControllerEpoch": _NOT_KRAFT}
    )


def decode_controller(data: bytes, path: str = CONTROLLER_PATH) -> int:
    """Decode the controller's id, of any version of the schema. Raises ZnodeError if there is none."""
    return read_object(data, path).number("brokerid", 0, INT32_MAX)


def encode_epoch(epoch: int) -> bytes:
    """Encode the controller epoch: a number as text."""
    return str(epoch).encode()


def decode_epoch(data: bytes, path: str = CONTROLLER_EPOCH_PATH) -> int:
    """Decode the controller epoch. Raises ZnodeError if it is no number that an epoch can have."""
    text = data.decode("ascii", "replace")
    if not _NUMBER.fullmatch(text) or int(text) > INT32_MAX:
        raise ZnodeError(path, f"it is {shown(text)}, not a whole number from 0 to {INT32_MAX}")
    return int(text)
