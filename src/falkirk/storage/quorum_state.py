"""`quorum-state` of a KRaft node: its epoch, vote and leader. One line of JSON (KIP-595; version 1 by KIP-853).

Version 0 goes with kraft.version 0 and repeats the static voters; 3.7 refuses version 1. Version 1 goes with
kraft.version 1: the voters are in the log, and a vote names the candidate's directory.
"""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from falkirk.protocol.errors import LocalProtocolError
from falkirk.protocol.schema import ZERO_UUID
from falkirk.protocol.uuid import parse_uuid, uuid_text
from falkirk.storage.errors import CorruptFileError

FILE_NAME = "quorum-state"
NO_LEADER = -1
NO_VOTE = -1
_Int16 = Annotated[int, msgspec.Meta(ge=-(1 << 15), lt=1 << 15)]
_Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), lt=1 << 31)]
_Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumState:
    """A node's election state. -1 stands for no leader, no vote.

    Only version 0 has `cluster_id` (always empty in practice), `applied_offset` (always 0) and `current_voters` (node
    ids; None is null); only version 1 has `voted_directory_id`.
    """

    data_version: int
    leader_id: int = NO_LEADER
    leader_epoch: int
    voted_id: int = NO_VOTE
    voted_directory_id: bytes = ZERO_UUID
    cluster_id: str = ""
    applied_offset: int = 0
    current_voters: tuple[int, ...] | None = ()


def parse_quorum_state(data: bytes, *, file: str = FILE_NAME) -> QuorumState:
    """Read the first line, as Kafka does. Raises CorruptFileError if a field is missing or the version unknown."""
    line = data.split(b"\n", 1)[0]
    try:
        version = msgspec.json.decode(line, type=_Version).data_version
        if version == 0:
            return _from_version_0(msgspec.json.decode(line, type=_Version0))
        if version == 1:
            return _from_version_1(msgspec.json.decode(line, type=_Version1))
    except (msgspec.DecodeError, LocalProtocolError) as error:
        raise CorruptFileError(f"content is malformed: {error}", offset=0, file=file) from error
    raise CorruptFileError(f"data_version is {version}, 0 or 1 was expected", offset=0, file=file)


def format_quorum_state(state: QuorumState) -> bytes:
    """Write the file as Kafka does: no blanks, fields in this order, no line end.

    Raises LocalProtocolError for a voted directory in version 0.
    """
    if state.data_version == 1:
        return msgspec.json.encode(
            _Version1(
                leader_id=state.leader_id,
                leader_epoch=state.leader_epoch,
                voted_id=state.voted_id,
                voted_directory_id=uuid_text(state.voted_directory_id),
                data_version=1,
            )
        )
    if state.voted_directory_id != ZERO_UUID:
        raise LocalProtocolError("quorum-state of version 0 can not hold the directory of a vote")
    voters = state.current_voters
    return msgspec.json.encode(
        _Version0(
            cluster_id=state.cluster_id,
            leader_id=state.leader_id,
            leader_epoch=state.leader_epoch,
            voted_id=state.voted_id,
            applied_offset=state.applied_offset,
            current_voters=None if voters is None else [_Voter(voter_id=voter) for voter in voters],
            data_version=0,
        )
    )


class _Version(msgspec.Struct):
    data_version: _Int16


class _Voter(msgspec.Struct, rename="camel"):
    voter_id: _Int32


class _Version0(msgspec.Struct):
    cluster_id: str = msgspec.field(name="clusterId")
    leader_id: _Int32 = msgspec.field(name="leaderId")
    leader_epoch: _Int32 = msgspec.field(name="leaderEpoch")
    voted_id: _Int32 = msgspec.field(name="votedId")
    applied_offset: _Int64 = msgspec.field(name="appliedOffset")
    current_voters: list[_Voter] | None = msgspec.field(name="currentVoters")
    data_version: _Int16


class _Version1(msgspec.Struct):
    leader_id: _Int32 = msgspec.field(name="leaderId")
    leader_epoch: _Int32 = msgspec.field(name="leaderEpoch")
    voted_id: _Int32 = msgspec.field(name="votedId")
    voted_directory_id: str = msgspec.field(name="votedDirectoryId")
    data_version: _Int16


def _from_version_0(content: _Version0) -> QuorumState:
    voters = content.current_voters
    return QuorumState(
        data_version=0,
        leader_id=content.leader_id,
        leader_epoch=content.leader_epoch,
        voted_id=content.voted_id,
        cluster_id=content.cluster_id,
        applied_offset=content.applied_offset,
        current_voters=None if voters is None else tuple(voter.voter_id for voter in voters),
    )


def _from_version_1(content: _Version1) -> QuorumState:
    return QuorumState(
        data_version=1,
        leader_id=content.leader_id,
        leader_epoch=content.leader_epoch,
        voted_id=content.voted_id,
        voted_directory_id=parse_uuid(content.voted_directory_id),
    )
