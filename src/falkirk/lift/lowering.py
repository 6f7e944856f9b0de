"""The lowering of the level by the falkirk controller that leads, and what every node has of it afterwards.

Source: KIP-584 (UpdateFeatures), KIP-1155 (lowering metadata.version).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.client.admin import AsyncAdmin, EndpointType
from falkirk.ledger.findings import BlockerKind
from falkirk.lift.errors import LiftError, LossesNotAcceptedError
from falkirk.lift.journal import LOWER
from falkirk.lift.step import Step
from falkirk.operations.feature_changes import update_features
from falkirk.operations.target_levels import TargetLevels, levels_of_release, with_own_kraft_version
from falkirk.protocol.error_codes import ErrorCode
from falkirk.protocol.feature_update_tags import OPEN_TRANSACTION
from falkirk.protocol.upgrade_type import UpgradeType
from falkirk.versions.features import TRANSACTION_VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from falkirk.client.config import ClientConfig
    from falkirk.client.feature_update import FeatureUpdate, UpdateFeaturesResult
    from falkirk.lift.lift_file import LiftFile
    from falkirk.lift.lifted_cluster import LiftedCluster
    from falkirk.logdir.target import Target
    from falkirk.operations.feature_changes import UpdateOutcome
    from falkirk.protocol.endpoint import Endpoint

_UPDATE_MS: Final = 60_000
# How long transactions may take to end by themselves before they are aborted; most take less than a second.
_PATIENCE_MS: Final = 20_000


class Lowering:
    """The steps `lower` and `follow`. `leader`: where the falkirk controller listens that leads.

    `is_whole`: whether all nodes serve and all partitions are in sync; None where a broker is missing for the lift.
    """

    def __init__(
        self,
        file: LiftFile,
        target: Target,
        cluster: LiftedCluster,
        *,
        leader: Callable[[], Awaitable[Endpoint]],
        config: ClientConfig,
        is_whole: Callable[[], Awaitable[bool]] | None,
    ) -> None:
        self._file = file
        self._target = target
        self._cluster = cluster
        self._leader = leader
        self._config = config
        self._is_whole = is_whole

    def steps(self) -> tuple[Step, ...]:
        """Return both."""
        what = f"the level goes down to {self._target.metadata_version}"
        return (
            Step(LOWER, what, self._cluster.is_lowered, self._lower),
            Step("follow", "every node has the lowered log", self._is_followed, self._follow, is_after_lowering=True),
        )

    async def _lower(self) -> None:
        # A leader of a large cluster does not know the level for a moment, and then does not decide for another: the
        # client sends the update again.
        endpoints = [await self._leader()]
        await self._cluster.level_within()
        if self._is_whole is not None:
            # What has left an ISR meanwhile would cost eligible leaders, and a broker that does not follow is fenced.
            await self._cluster.until(self._is_whole, "all nodes answer, and all partitions are in sync")
        async with AsyncAdmin(endpoints, self._config, endpoint_type=EndpointType.CONTROLLER) as admin:
            features = await admin.describe_features()
            release, version = self._target.release, self._target.metadata_version
            levels = with_own_kraft_version(levels_of_release(release, version, UpgradeType.SAFE_DOWNGRADE), features)
            wanted = TargetLevels(levels=levels, source=str(self._target))
            updates = wanted.updates(features, UpgradeType.SAFE_DOWNGRADE)
            if not updates:
                return
            outcome = await update_features(admin, updates, is_dry_run=True, forced_snapshot=True)
            if outcome.failed:
                self._check_accepted(outcome.result)
                updates = wanted.updates(features, UpgradeType.UNSAFE_DOWNGRADE)
            lowered = await self._update(admin, updates)
        details = lowered.result.details
        losses = [] if details is None else details.losses
        bundle = None if details is None else details.undo_bundle
        self._cluster.note("level-lowered", {"losses": losses, "levels": levels, "undo_bundle": bundle})
        # Where its controller has ended since, nobody may report the level until it runs again.
        await self._cluster.is_lowered_within()

    async def _update(self, admin: AsyncAdmin, updates: Mapping[str, FeatureUpdate]) -> UpdateOutcome:
        """Lower the levels; transactions that are open may end before, or are aborted then if that is accepted.

        Raises LiftError if they do not end, ClientError.
        """
        transactions = updates.get(TRANSACTION_VERSION)
        waits = transactions is not None and transactions.upgrade_type is UpgradeType.UNSAFE_DOWNGRADE
        is_accepted = not self._file.not_accepted([OPEN_TRANSACTION])
        limit_ms = _PATIENCE_MS if waits and is_accepted else _UPDATE_MS
        outcome = await update_features(admin, updates, forced_snapshot=True, timeout_ms=limit_ms)
        late = _timed_out(outcome) if waits else None
        if late is not None and not _waited_in_vain(outcome) and limit_ms < _UPDATE_MS:
            # The controller itself needed longer: that is no reason to abort anything.
            outcome = await update_features(admin, updates, forced_snapshot=True, timeout_ms=_UPDATE_MS)
            late = _timed_out(outcome)
        if late is not None and _waited_in_vain(outcome) and not await self._cluster.is_lowered():
            if not is_accepted:
                raise LiftError(
                    f"the level was not lowered: {late}. End them and begin a new lift, or name {OPEN_TRANSACTION} "
                    "in accept_losses: then those that stay open are aborted"
                )
            self._cluster.note("aborts-transactions", {"reason": late})
            outcome = await update_features(admin, updates, forced_snapshot=True, abort_transactions=True)
        outcome.result.all()
        return outcome

    async def _is_followed(self) -> bool:
        """Return whether every controller has the lowered log, and every broker reports the level."""
        view = await self._cluster.view()
        if view is None or not await self._cluster.is_lowered():
            return False
        for voter in self._cluster.voters:
            answer = await self._cluster.quorum.versions_at(voter.endpoint)
            if (
                answer is None
                or not self._cluster.follows(view, voter.node_id)
                or not self._cluster.has_low_level(answer)
            ):
                return False
            # A falkirk controller must have left the record behind, which Kafka's binaries do not read.
            if answer.metadata_progress is not None and answer.metadata_progress.holds_lowering:
                return False
        return await self._cluster.are_brokers_lowered()

    async def _follow(self) -> None:
        """Start what is needed and has ended, until every node follows."""
        await self._cluster.until(self._is_followed_or_revived, "every node has the lowered log")

    async def _is_followed_or_revived(self) -> bool:
        """Return whether every node follows; where one does not, start what has ended."""
        if await self._is_followed():
            return True
        if self._cluster.revive is not None:
            await self._cluster.revive()
        return False

    def _check_accepted(self, result: UpdateFeaturesResult) -> None:
        """Raise LiftError unless only losses of accepted kinds are in the way."""
        details = result.details
        refused = "; ".join(
            f"{name}: {failure.message}" for name, failure in result.values.items() if failure is not None
        )
        if details is None or details.blockers or not details.losses:
            raise LiftError(f"the level cannot be lowered: {refused}")
        kinds = self._file.not_accepted(str(loss.get("kind")) for loss in details.losses)
        if kinds:
            first = next(loss for loss in details.losses if loss.get("kind") in kinds)
            raise LossesNotAcceptedError(
                f"the level was not lowered: it would lose {', '.join(kinds)}, which accept_losses does "
                f"not name, such as {first.get('detail')} ({len(details.losses)} losses in all; `falkirk lift check` "
                "lists them)"
            )


def _timed_out(outcome: UpdateOutcome) -> str | None:
    """Return what the controller says if the time was up; None if it was not."""
    failures = (failure for failure in outcome.result.values.values() if failure is not None)
    return next((each.message for each in failures if each.error_code == ErrorCode.REQUEST_TIMED_OUT), None)


def _waited_in_vain(outcome: UpdateOutcome) -> bool:
    """Return whether open transactions are why the time was up: other work may take too long as well."""
    details = outcome.result.details
    return details is not None and details.has_blocker(BlockerKind.TRANSACTION_NOT_ENDED)
