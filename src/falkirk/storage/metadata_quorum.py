"""The voters of the metadata quorum, and the log that an election among them would follow (KIP-595, KIP-853)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from falkirk.storage.errors import MalformedVotersError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.protocol.messages import VotersRecord
    from falkirk.storage.quorum_state import QuorumState

STATIC_VOTERS_CONFIG: Final = "controller.quorum.voters"


class MetadataLogEnd(Protocol):
    """The end of one node's metadata log, and its directory's knowledge of voters."""

    @property
    def epoch(self) -> int:
        """Epoch of the last record."""

    @property
    def end_offset(self) -> int:
        """The offset behind the last record."""

    @property
    def kraft_version(self) -> int:
        """Level of kraft.version at the end."""

    @property
    def voters(self) -> VotersRecord | None:
        """The last voters in snapshot and log."""

    @property
    def quorum_state(self) -> QuorumState | None:
        """The node's election state; None: no such file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A voter's endpoint; empty host and port 0 if unknown."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """The voters. `directory_ids` and listeners come from the log (kraft.version 1); `source` names its origin."""

    ids: frozenset[int]
    endpoints: dict[int, Endpoint]
    directory_ids: dict[int, bytes]
    source: str

    @property
    def majority(self) -> int:
        """The number of voters in a majority."""
        return len(self.ids) // 2 + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumChoice:
    """The node whose log counts, the voters (ascending) whose logs are given, and whether these are a majority.

    `has_majority` is None for nodes that were formatted and never ran, whose voters are unknown: nothing was ever voted
    on.
    """

    node_id: int
    voters_here: tuple[int, ...]
    has_majority: bool | None


def find_voters(logs: Iterable[MetadataLogEnd], configured: Iterable[tuple[str, str | None]]) -> Voters | None:
    """Return the voters in the latest log (kraft.version 1), else those configured, else those in quorum-state.

    `configured` has (a name for the source, its controller.quorum.voters) of each node. Raises MalformedVotersError.
    """
    logs = list(logs)
    latest = max(logs, key=_freshness, default=None)
    if latest is not None and latest.kraft_version > 0 and latest.voters is not None:
        return _dynamic_voters(latest.voters)
    for source, text in configured:
        if text:
            return _configured_voters(text, source)
    remembered = {
        voter for log in logs if log.quorum_state is not None for voter in log.quorum_state.current_voters or ()
    }
    if remembered:
        return Voters(ids=frozenset(remembered), endpoints={}, directory_ids={}, source="quorum-state")
    return None


def choose_log(logs: Mapping[int, MetadataLogEnd], voters: Voters | None) -> QuorumChoice:
    """Choose, among the logs of at least one node, the longest of the latest epoch among the voters.

    If none of them is a voter, or the voters are unknown, it is the longest of all.
    """
    if voters is None and not any(log.end_offset for log in logs.values()):
        return QuorumChoice(node_id=min(logs), voters_here=(), has_majority=None)
    here = tuple(sorted(voters.ids & set(logs))) if voters is not None else ()
    chosen = max(here or logs, key=lambda node_id: (*_freshness(logs[node_id]), -node_id))
    has_majority = voters is not None and len(here) >= voters.majority
    return QuorumChoice(node_id=chosen, voters_here=here, has_majority=has_majority)


def _freshness(log: MetadataLogEnd) -> tuple[int, int]:
    return log.epoch, log.end_offset


def _dynamic_voters(record: VotersRecord) -> Voters:
    return Voters(
        ids=frozenset(voter.voter_id for voter in record.voters),
        endpoints={
            voter.voter_id: Endpoint(host=voter.endpoints[0].host, port=voter.endpoints[0].port)
            for voter in record.voters
            if voter.endpoints
        },
        directory_ids={voter.voter_id: voter.voter_directory_id for voter in record.voters},
        source="the metadata log",
    )


def _configured_voters(text: str, source: str) -> Voters:
    """Read `1@host:9093,2@[::1]:9093`."""
    endpoints: dict[int, Endpoint] = {}
    for part in text.split(","):
        node_id, _, address = part.strip().partition("@")
        host, _, port = address.rpartition(":")
        if not (node_id.isdigit() and host and port.isdigit()):
            raise MalformedVotersError(f"{source}: {part.strip()!r} is not <id>@<host>:<port>")
        endpoints[int(node_id)] = Endpoint(host=host, port=int(port))
    return Voters(ids=frozenset(endpoints), endpoints=endpoints, directory_ids={}, source=source)
