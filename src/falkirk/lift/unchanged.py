"""Whether a lift that is gone on with still has the cluster that it began on. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.lift.errors import LiftError
from falkirk.lift.quorum_access import voters_of
from falkirk.protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.client.quorum_description import QuorumDescription
    from falkirk.lift.journal import Originals


def check_unchanged(
    originals: Originals, *, cluster_id: str | None, quorum: QuorumDescription | None, own: Collection[int]
) -> None:
    """Raise LiftError for another cluster, and for voters that are there now and were not when the lift began.

    `cluster_id`, `quorum`: as they are now, None where nobody answers; `own`: ids of falkirk's controller.
    """
    if cluster_id is not None and cluster_id != originals.cluster_id:
        raise LiftError(
            f"the lift under way is of cluster {originals.cluster_id}, and bootstrap_servers lead to {cluster_id}: "
            "correct the file, or name another state directory"
        )
    if quorum is None:
        return
    before = {voter.node_id: voter.directory_id for voter in originals.voters}
    for voter in voters_of(quorum):
        if voter.node_id in own:
            continue
        if voter.node_id not in before:
            raise LiftError(
                f"voter {voter.node_id} was added after the lift had begun, which would not give it back: remove it "
                f"(falkirk quorum remove), run the lift, and add it again"
            )
        known = {before[voter.node_id], voter.directory_id} - {ZERO_UUID.hex()}
        if len(known) > 1:
            raise LiftError(
                f"voter {voter.node_id} has directory {voter.directory_id}, and had {before[voter.node_id]} when the "
                "lift began: it was formatted anew, and would not be given back"
            )
