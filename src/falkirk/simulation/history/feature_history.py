"""The feature updates that an operator requested, and the ledger of each answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from falkirk.protocol.feature_update_tags import FeatureUpdateDetails
    from falkirk.protocol.upgrade_type import UpgradeType
    from falkirk.simulation.history.write_history import Register
    from falkirk.versions.metadata_version import MetadataVersion

_NOT_READ: Final = "not_read"


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelAnswer:
    """An active controller's answer to an update of a level. `message` is empty if it was accepted.

    `to` is None if the update was of another feature.
    """

    to: "MetadataVersion | None"
    upgrade_type: "UpgradeType"
    is_dry_run: bool
    message: str
    details: "FeatureUpdateDetails"

    @property
    def loses(self) -> bool:
        """True if nothing but losses may prevent the update."""
        return bool(self.details.losses) and not self.details.blockers

    @property
    def is_known(self) -> bool:
        """True if the ledger is complete; what is inaccessible may be readable a moment later."""
        return all(loss["kind"] != _NOT_READ for loss in self.details.losses)


@dataclass(slots=True)
class FeatureHistory:
    """`levels`: all that were requested, dry runs apart; `unsafe`: those requested with consent to losses."""

    levels: "Register"
    unsafe: set[int] = field(default_factory=set)
    answers: list[LevelAnswer] = field(default_factory=list)

    def reported(self, to: MetadataVersion) -> set[str] | None:
        """Return the ledger keys of the answers that lowered to a level; None if there is no such answer.

        An answer may be lost with its leader: a repeated request then succeeds as a no-op, without ledger and bundle.
        """
        ledgers = [
            each.details.losses
            for each in self.answers
            if each.to == to and not each.is_dry_run and not each.message and each.details.undo_bundle is not None
        ]
        return {loss["key"] for losses in ledgers for loss in losses} if ledgers else None
