"""The configuration of a replica of the metadata log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.endpoint import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftConfig:
    """Identity and settings of the replica. Names are those of Kafka's configuration; all times in ms.

    `static_voters` (controller.quorum.voters) and `bootstrap_servers` exclude each other. `is_controller`: the node has
    the role, and may be a voter; others only observe. `listeners`: own endpoints by listener name, as dynamic voters
    publish them; the quorum uses the first.
    """

    node_id: int
    directory_id: bytes
    cluster_id: str
    is_controller: bool
    static_voters: "Mapping[int, Endpoint] | None" = None
    bootstrap_servers: "tuple[Endpoint, ...]" = ()
    listeners: "Mapping[str, Endpoint]" = field(default_factory=dict)
    kraft_version_max: int = 1
    # Whether kraft.version rises while the quorum runs (from 4.1 on). At level 0 a voter then reports its directory id
    # and its endpoints to each leader, since nothing else has them.
    updates_kraft_version: bool = False
    # Whether the release has pre-votes (Vote v2, from 4.0 on).
    has_pre_vote: bool = True
    # controller.quorum.auto.join.enable (from 4.2 on).
    auto_join: bool = False
    # Whether this replica can apply a record that lowers metadata.version; it says so in its fetches.
    follows_lowerings: bool = True
    # Whether this replica stands for election at once where a request names it the leader's first successor, though
    # others still hear from the leader: a lift asks for it so.
    succeeds_at_once: bool = False
    election_timeout_ms: int = 1000
    election_backoff_max_ms: int = 1000
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_bytes_max: int = 8 * 1024 * 1024
    snapshot_fetch_bytes_max: int = 1024 * 1024
