"""What came of updates of features: kafka-features' lines, and what only our servers tell of losses and blockers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.failure import CommandFailedError, DataWouldBeLostError
from falkirk.cli.kip_584_changes import Change, change_lines
from falkirk.protocol.error_codes import ErrorCode, error_name
from falkirk.protocol.feature_update_tags import CONSUMER_GROUP
from falkirk.protocol.upgrade_type import UpgradeType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.cli.downgrade_wait import DowngradeWait
    from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure, UpdateFeaturesResult

# KIP-778's name for a safe downgrade that is refused for what it would lose; Kafka has no number for it.
UNSAFE_FEATURE_DOWNGRADE: Final = "UNSAFE_FEATURE_DOWNGRADE"
# Its offsets stay, so it is not lost.
_DRAINED: Final = "drained"
_DETAILS: Final = ("losses", "inaccessible", "blockers", "undo_bundle")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureChanges:
    """A result for `falkirk.cli.output`. `before`: finalized max levels, for the commands of KIP-584 alone."""

    command: str
    updates: Mapping[str, FeatureUpdate]
    result: UpdateFeaturesResult
    is_dry_run: bool
    before: Mapping[str, int] | None = None
    # Who decided, if it was not the controller.
    note: str | None = None
    # What came of --wait. Its lines are printed when it is over, after these.
    waited: DowngradeWait | None = None

    def text(self) -> Iterator[str]:
        """Give a line for each feature, then what is lost or not accessible any more."""
        if self.before is None:
            for feature, failure in self.result.values.items():
                yield self._line(feature, failure)
        else:
            yield from change_lines(self.updates, self.before, self.result.values)
        details = self.result.details
        if details is None or self.failure is not None:
            return
        for item in details.losses:
            yield f"  {_DRAINED if item.get('kind') == CONSUMER_GROUP else 'lost'}: {item.get('detail')}"
        for item in details.inaccessible:
            yield f"  inaccessible: {item.get('detail')}"
        if details.undo_bundle is not None:
            yield f"  undo bundle: {details.undo_bundle}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the same by fields; what only our servers tell is null from others."""
        details = self.result.details
        return {
            "command": self.command,
            "dry_run": self.is_dry_run,
            "note": self.note,
            "features": [self._document(*one) for one in self.result.values.items()],
            **{name: None if details is None else getattr(details, name) for name in _DETAILS},
            "waited": None if self.waited is None else self.waited.document(),
        }

    @property
    def failure(self) -> CommandFailedError | None:
        """Give what the command has to end with; None if every update succeeded."""
        failed = sum(failure is not None for failure in self.result.values.values())
        if not failed:
            return None
        kind = DataWouldBeLostError if self._would_lose_data else CommandFailedError
        return kind(f"{failed} out of {len(self.updates)} operation(s) failed.")

    @property
    def _would_lose_data(self) -> bool:
        """Say whether downgrades were refused for their losses, and nothing else is in the way."""
        details = self.result.details
        if details is None or not details.losses or details.blockers:
            return False
        return any(
            failure is not None and self._is_refused_downgrade(feature, failure)
            for feature, failure in self.result.values.items()
        )

    def _is_refused_downgrade(self, feature: str, failure: FeatureUpdateFailure) -> bool:
        is_safe = self.updates[feature].upgrade_type is UpgradeType.SAFE_DOWNGRADE
        return is_safe and failure.error_code == ErrorCode.INVALID_UPDATE_VERSION

    def _line(self, feature: str, failure: FeatureUpdateFailure | None) -> str:
        level = self.updates[feature].max_version_level
        is_disabled = self.command == "disable"
        if failure is not None:
            asked = f"disable {feature}" if is_disabled else f"{self.command} {feature} to {level}"
            return f"{'Can' if self.is_dry_run else 'Could'} not {asked}. {failure.message}"
        done = "disabled." if is_disabled else f"{self.command}d to {level}."
        return f"{feature} {'can be' if self.is_dry_run else 'was'} {done}"

    def _document(self, feature: str, failure: FeatureUpdateFailure | None) -> dict[str, Any]:  # Any: JSON values
        update = self.updates[feature]
        document: dict[str, Any] = {
            "feature": feature,
            "level": update.max_version_level,
            "upgrade_type": update.upgrade_type.name,
            "error": None if failure is None else self._error(feature, failure),
        }
        if self.before is not None:
            before = self.before.get(feature, 0)
            document |= {"change": Change.of(update, before).name, "before": before}
        return document

    def _error(self, feature: str, failure: FeatureUpdateFailure) -> dict[str, Any]:  # Any: JSON values
        is_lossy = self._would_lose_data and self._is_refused_downgrade(feature, failure)
        name = UNSAFE_FEATURE_DOWNGRADE if is_lossy else error_name(failure.error_code)
        return {"code": int(failure.error_code), "name": name, "message": failure.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToChange:
    """A result where all that is wanted is there already. `of`: which levels those are."""

    command: str
    of: str
    is_dry_run: bool
    waited: DowngradeWait | None = None

    @property
    def failure(self) -> CommandFailedError | None:
        """Give what the command has to end with: nothing that was asked for failed."""
        return None

    def text(self) -> Iterator[str]:
        """Give one line."""
        where = "below" if self.command.startswith("upgrade") else "above"
        yield f"Nothing to change: no feature is {where} {self.of}."

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Give the same by fields."""
        return {
            "command": self.command,
            "dry_run": self.is_dry_run,
            "note": None,
            "features": [],
            **dict.fromkeys(_DETAILS),
            "waited": None if self.waited is None else self.waited.document(),
        }
