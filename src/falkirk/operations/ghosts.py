"""Registrations that outlive their servers, as far as Admin's answers show them.

Levels are checked against all registrations. Below 4.4-IV2 that of a controller cannot be removed.
Sources: KIP-584 (all brokers), KIP-919 (controller registrations).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from falkirk.client.quorum_description import QuorumDescription

BROKER: Final = "broker"
CONTROLLER: Final = "controller"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghost:
    """A server that is registered and does not fetch the metadata. `role`: broker or controller."""

    role: str
    node_id: int

    @property
    def text(self) -> str:
        """One line for an operator: what it blocks, and the way out."""
        if self.role == BROKER:
            remedy = f"start it, or take it out with falkirk brokers unregister --id {self.node_id}"
        else:
            remedy = (
                "start a controller with this id, or at metadata.version 4.4-IV2 and above take it out with falkirk "
                f"quorum unregister --id {self.node_id}"
            )
        return (
            f"{self.role} {self.node_id} is registered and does not fetch the metadata: while it is, only levels that "
            f"it supports can be finalized; {remedy}."
        )

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {"role": self.role, "node_id": self.node_id, "text": self.text}


def find_ghosts(
    quorum: QuorumDescription,
    *,
    fenced_brokers: Collection[int] = (),
    controllers: Collection[int] = (),
    ended: Collection[int] = (),
) -> tuple[Ghost, ...]:
    """Return the fenced brokers and the registered controllers that are neither voters nor observers, by id.

    A leader lists an observer until it has not fetched for five minutes; `ended`: those that are known to be gone.
    """
    present = {*quorum.voters, *quorum.observers} - {*ended}
    return tuple(
        Ghost(role=role, node_id=node_id)
        for role, registered in ((BROKER, fenced_brokers), (CONTROLLER, controllers))
        for node_id in sorted({*registered} - present)
    )
