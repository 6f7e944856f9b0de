"""Which handler answers which API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.node.handlers import (
    add_raft_voter,
    begin_quorum_epoch,
    describe_quorum,
    end_quorum_epoch,
    envelope,
    fetch,
    fetch_snapshot,
    remove_raft_voter,
    update_raft_voter,
    vote,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.node.handlers.handler import Route

# One line for each handler: `<api>.ROUTE`, in order of the API keys.
_ROUTES: Iterable[Route] = (
    fetch.ROUTE,
    vote.ROUTE,
    begin_quorum_epoch.ROUTE,
    end_quorum_epoch.ROUTE,
    describe_quorum.ROUTE,
    envelope.ROUTE,
    fetch_snapshot.ROUTE,
    add_raft_voter.ROUTE,
    remove_raft_voter.ROUTE,
    update_raft_voter.ROUTE,
)

ROUTES: Final[Mapping[int, Route]] = {route.api_key: route for route in _ROUTES}
