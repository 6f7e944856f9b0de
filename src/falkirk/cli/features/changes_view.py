"""The outcome of feature updates: kafka-features' lines, and the losses and blockers that falkirk's servers report."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.failure import CommandFailedError, DataWouldBeLostError
from falkirk.operations.feature_changes import ChangeKind
from falkirk.protocol.error_codes import error_name
from falkirk.protocol.feature_update_tags import CONSUMER_GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.cli.features.wait_view import WaitView
    from falkirk.client.feature_update import FeatureUpdate, FeatureUpdateFailure
    from falkirk.operations.feature_changes import UpdateOutcome

# KIP-778's name for a safe downgrade that is refused for what it would lose; Kafka has no number for it.
UNSAFE_FEATURE_DOWNGRADE: Final = "UNSAFE_FEATURE_DOWNGRADE"
# Its offsets stay, so it is not lost.
_DRAINED: Final = "drained"
_SAME_REASON: Final = "Refused for the same reason."
_DETAILS: Final = ("losses", "inaccessible", "blockers", "undo_bundle")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureChanges:
    """A `Result`. `before`: finalized max levels, for the commands of KIP-584 alone.

    `waited`: the outcome of --wait; its lines are printed after these, when the wait is over.
    """

    command: str
    outcome: UpdateOutcome
    is_dry_run: bool
    before: Mapping[str, int] | None = None
    waited: WaitView | None = None

    def text(self) -> Iterator[str]:
        """Yield a line for each feature, then what is lost or no longer accessible."""
        outcomes = self.outcome.result.values
        if self.outcome.is_ledger_ours:
            outcomes = _with_reasons_once(outcomes)
        if self.before is None:
            for feature, failure in outcomes.items():
                yield self._line(feature, failure)
        else:
            yield from change_lines(self.outcome.updates, self.before, outcomes)
        details = self.outcome.result.details
        # A server of falkirk's has its losses and blockers in the reason.
        if details is None or (self.failure is not None and not self.outcome.is_ledger_ours):
            return
        if self.outcome.is_ledger_ours:
            for blocker in details.blockers:
                yield f"  in the way: {blocker.get('text') if isinstance(blocker, dict) else blocker}"
        for item in details.losses:
            yield f"  {_DRAINED if item.get('kind') == CONSUMER_GROUP else 'lost'}: {item.get('detail')}"
        for item in details.inaccessible:
            yield f"  inaccessible: {item.get('detail')}"
        if details.undo_bundle is not None:
            yield f"  undo bundle: {details.undo_bundle}"

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields; what only falkirk's servers report is null from others."""
        details = self.outcome.result.details
        return {
            "command": self.command,
            "dry_run": self.is_dry_run,
            "note": self.outcome.note,
            "features": [self._document(*one) for one in self.outcome.result.values.items()],
            **{name: None if details is None else getattr(details, name) for name in _DETAILS},
            "waited": None if self.waited is None else self.waited.document(),
        }

    @property
    def failure(self) -> CommandFailedError | None:
        """The error that the command ends with; None if every update succeeded."""
        failed = len(self.outcome.failed)
        if not failed:
            return None
        kind = DataWouldBeLostError if self.outcome.would_lose_data else CommandFailedError
        return kind(f"{failed} out of {len(self.outcome.updates)} operation(s) failed.")

    def _line(self, feature: str, failure: FeatureUpdateFailure | None) -> str:
        level = self.outcome.updates[feature].max_version_level
        is_disabled = self.command == "disable"
        if failure is not None:
            action = f"disable {feature}" if is_disabled else f"{self.command} {feature} to {level}"
            return f"{'Can' if self.is_dry_run else 'Could'} not {action}. {failure.message}"
        done = "disabled." if is_disabled else f"{self.command}d to {level}."
        return f"{feature} {'can be' if self.is_dry_run else 'was'} {done}"

    def _document(self, feature: str, failure: FeatureUpdateFailure | None) -> dict[str, Any]:  # Any: JSON values
        update = self.outcome.updates[feature]
        document: dict[str, Any] = {
            "feature": feature,
            "level": update.max_version_level,
            "upgrade_type": update.upgrade_type.name,
            "error": None if failure is None else self._error(feature, failure),
        }
        if self.before is not None:
            before = self.before.get(feature, 0)
            document |= {"change": ChangeKind.of(update, before).name, "before": before}
        return document

    def _error(self, feature: str, failure: FeatureUpdateFailure) -> dict[str, Any]:  # Any: JSON values
        is_lossy = self.outcome.would_lose_data and self.outcome.is_refused_downgrade(feature)
        name = UNSAFE_FEATURE_DOWNGRADE if is_lossy else error_name(failure.error_code)
        return {"code": int(failure.error_code), "name": name, "message": failure.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToChange:
    """A `Result` where nothing has to change. `levels`: which levels the features have already, for people."""

    command: str
    levels: str
    is_dry_run: bool
    waited: WaitView | None = None

    @property
    def failure(self) -> CommandFailedError | None:
        """None: nothing failed."""
        return None

    def text(self) -> Iterator[str]:
        """Yield one line."""
        where = "below" if self.command.startswith("upgrade") else "above"
        yield f"Nothing to change: no feature is {where} {self.levels}."

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        return {
            "command": self.command,
            "dry_run": self.is_dry_run,
            "note": None,
            "features": [],
            **dict.fromkeys(_DETAILS),
            "waited": None if self.waited is None else self.waited.document(),
        }


def _with_reasons_once(
    outcomes: Mapping[str, FeatureUpdateFailure | None],
) -> dict[str, FeatureUpdateFailure | None]:
    """Return the outcomes with a reason in full where it is first: version 2 of the API has one for all features."""
    known: set[str] = set()
    shown: dict[str, FeatureUpdateFailure | None] = {}
    for feature, failure in outcomes.items():
        is_repeated = failure is not None and failure.message in known
        shown[feature] = replace(failure, message=_SAME_REASON) if failure and is_repeated else failure
        if failure is not None:
            known.add(failure.message)
    return shown


def change_lines(
    updates: Mapping[str, FeatureUpdate],
    before: Mapping[str, int],
    outcomes: Mapping[str, FeatureUpdateFailure | None],
) -> Iterator[str]:
    """Yield a line of KIP-584's own table for each update. `before`: finalized max levels; `outcomes`: None if done."""
    # The spacing is that of the KIP's samples: marks are right-aligned; the name is followed by seven spaces if the
    # feature is added or deleted, else six; the existing level by two, the new one by seven.
    changes = {name: ChangeKind.of(update, before.get(name, 0)) for name, update in updates.items()}
    width = max((len(change.value) + 2 for change in changes.values()), default=0)
    for name, update in updates.items():
        mark = f"[{changes[name].value}]"
        space = " " * (7 if changes[name] in (ChangeKind.ADD, ChangeKind.DELETE) else 6)
        failure = outcomes[name]
        yield (
            f"{mark:>{width}} Feature: {name}{space}ExistingFinalizedMaxVersion: {before.get(name) or '-'}  "
            f"NewFinalizedMaxVersion: {update.max_version_level or '-'}       "
            f"Result: {'OK' if failure is None else failure.message}"
        )
