"""Names of partition directories: `topic-0`, and those with a suffix that marks their state.

`topic-0.<unique id>-delete` is being deleted (a long topic name is truncated so that the whole has at most 255
characters), `...-future` is a replica that moves to this log directory (KIP-113), `...-stray` a replica that the image
does not assign here.
"""

import enum
import re
from dataclasses import dataclass

NAME_LENGTH_MAX = 255
METADATA_TOPIC = "__cluster_metadata"
METADATA_DIRECTORY = "__cluster_metadata-0"
GROUPS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
_SUFFIXED_FORM = re.compile(r"(\S+)\.([^.\s]+)\Z")
_PLAIN_FORM = re.compile(r"(.+)-([0-9]{1,10})\Z")
_INT32_MAX = 0x7FFFFFFF


class DirectoryState(enum.Enum):
    """The state that the suffix marks. The values are the suffixes."""

    CURRENT = ""
    DELETE = "-delete"
    FUTURE = "-future"
    STRAY = "-stray"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDirectory:
    """A directory's name. `unique_id` is empty only for CURRENT; `topic` may be truncated for DELETE and STRAY."""

    topic: str
    partition: int
    state: DirectoryState = DirectoryState.CURRENT
    unique_id: str = ""


def parse_partition_directory(name: str) -> PartitionDirectory | None:
    """Read a name; None if it is not that of a partition."""
    state = next((state for state in _SUFFIXED if name.endswith(state.value)), DirectoryState.CURRENT)
    unique_id = ""
    if state is not DirectoryState.CURRENT:
        match = _SUFFIXED_FORM.match(name[: -len(state.value)])
        if match is None:
            return None
        name, unique_id = match.groups()
    match = _PLAIN_FORM.match(name)
    if match is None or int(match.group(2)) > _INT32_MAX:
        return None
    return PartitionDirectory(topic=match.group(1), partition=int(match.group(2)), state=state, unique_id=unique_id)


def format_partition_directory(directory: PartitionDirectory) -> str:
    """Write a name; the topic is truncated where Kafka truncates it."""
    if directory.state is DirectoryState.CURRENT:
        return f"{directory.topic}-{directory.partition}"
    rest = f"-{directory.partition}.{directory.unique_id}{directory.state.value}"
    topic = directory.topic
    if directory.state is not DirectoryState.FUTURE:
        topic = topic[: NAME_LENGTH_MAX - len(rest)]
    return topic + rest


_SUFFIXED = (DirectoryState.DELETE, DirectoryState.FUTURE, DirectoryState.STRAY)
