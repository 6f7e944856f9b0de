"""A feature update that lowers something: worked out and kept undoable over many steps, decided in one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from falkirk.metadata.controller.features.lowering_work import LoweringWork
from falkirk.metadata.requests.api_error import ApiError
from falkirk.metadata.undo.live_bundle import LiveBundle
from falkirk.node.controller.undo_bundles import VISITS_PER_TOPIC
from falkirk.node.effects import Fact
from falkirk.node.sliced_work import WorkCancelledError
from falkirk.protocol.error_codes import ErrorCode
from falkirk.slices import VISITS_PER_SLICE, SliceBudget

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.metadata.controller.features.feature_update import Assess, FeatureUpdateDecision, ReportedLosses
    from falkirk.metadata.controller.features.lowering_work import AssessedLowering, LoweringPlan
    from falkirk.metadata.controller.state.controller_state import ControllerState
    from falkirk.metadata.image.topic import Topic
    from falkirk.node.controller.undo_bundle_file import UndoBundleFile
    from falkirk.node.controller.undo_bundles import UndoBundles
    from falkirk.node.effects import Effect
    from falkirk.slices import Slices

_RAISING_RECORDS: Final = 2


class LoweringUpdate:
    """`decide` decides on the image at the log's end.

    The bundle is on the disk before a decision is returned; it gets its name when the change is committed.
    """

    def __init__(
        self,
        state: ControllerState,
        *,
        decide: Callable[[Assess], FeatureUpdateDecision],
        bundles: UndoBundles,
        effects: Callable[[Effect], None],
    ) -> None:
        self._state = state
        self._decide = decide
        self._bundles = bundles
        self._effects = effects
        self._work: LoweringWork | None = None
        self._bundle: LiveBundle | None = None
        self._file: UndoBundleFile | None = None
        # The losses of the first decision: most likely those of the last one.
        self._reported: ReportedLosses | None = None

    def slices(self) -> Slices[FeatureUpdateDecision]:
        """Return the decision on the image of the step in which the last slice runs."""
        try:
            return (yield from self._decided())
        except (Exception, WorkCancelledError):
            self._discard()
            raise

    def _decided(self) -> Slices[FeatureUpdateDecision]:
        while True:
            decision = self._decide(self._assess)
            if decision.plan is not None:
                yield from self._work_out(decision.plan)
            elif not decision.needs_undo_bundle or decision.is_refused or decision.request.validate_only:
                self._discard()
                return decision
            else:
                path = self._path(decision)
                if self._reported is None:
                    self._reported = yield from decision.report_losses()
                    continue
                try:
                    is_complete = yield from self._write(decision, path)
                except OSError as error:
                    self._discard()
                    return self._unwritten(decision, path, error)
                if is_complete:
                    return decision.with_undo_bundle(path, self._reported)

    def _discard(self) -> None:
        """Remove the incomplete file, if there is one."""
        if self._file is not None:
            self._file.discard()

    def _assess(self, plan: LoweringPlan) -> AssessedLowering | None:
        work = self._work
        return work.assessed() if work is not None and work.plan == plan and work.is_settled else None

    def _work_out(self, plan: LoweringPlan) -> Slices[None]:
        if self._work is None or self._work.plan != plan:
            self._work = LoweringWork(plan, self._state)
        yield from self._work.settle()

    def _write(self, decision: FeatureUpdateDecision, path: str) -> Slices[bool]:
        """Write what the bundle lacks; return whether it is complete, and nothing has changed meanwhile."""
        image = self._state.image
        bundle, file = self._bundle, self._file
        if bundle is None or file is None or not bundle.holds_for(image, decision.levels):
            bundle = self._bundle = LiveBundle(image, decision.levels)
            file = self._file = self._bundles.new_file()
        missing = bundle.missing(image)
        budget = SliceBudget()
        is_small = sum(_visits(topic) for _, topic in missing) <= VISITS_PER_SLICE
        for name, topic in missing:
            for data, visits in bundle.add(image, name, topic):
                file.append(data)
                if budget.spend(visits + VISITS_PER_TOPIC) and not is_small:
                    yield
        if not is_small:
            return False
        is_raised = decision.is_kraft_version_raised
        file.append(self._bundles.finish(bundle, image, self._offset(decision), is_kraft_version_raised=is_raised))
        self._bundles.prepare(file, path)
        self._file = None
        return True

    def _path(self, decision: FeatureUpdateDecision) -> str:
        return self._bundles.path(self._state.image, decision.levels, self._offset(decision))

    def _offset(self, decision: FeatureUpdateDecision) -> int:
        """Return where the change will begin: kraft.version and the voters, which raft writes, go before it."""
        return self._state.next_offset + (_RAISING_RECORDS if decision.is_kraft_version_raised else 0)

    def _unwritten(self, decision: FeatureUpdateDecision, path: str, error: OSError) -> FeatureUpdateDecision:
        """Refuse the update: without the bundle nothing may be changed."""
        reason = f"The undo bundle {path} cannot be written, so nothing was changed: {error}"
        self._effects(Fact("error", "undo-bundle-not-written", {"path": path, "reason": str(error)}))
        return decision.refused(ApiError(ErrorCode.FEATURE_UPDATE_FAILED, reason))


def _visits(topic: Topic | None) -> int:
    return VISITS_PER_TOPIC + (0 if topic is None else topic.partition_count)
