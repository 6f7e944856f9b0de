"""A broker as the controller: one FeatureController per election, until it has answered its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.feature_update import refused
from falkirk.zookeeper_node.controller.controller_election import ControllerElection, WonElection
from falkirk.zookeeper_node.controller.feature_controller import FeatureController
from falkirk.zookeeper_node.controller.feature_tasks import NOT_CONTROLLER
from falkirk.zookeeper_node.session.exchange import SessionState

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse
    from falkirk.zookeeper_node.controller.feature_controller import ClusterView, FeatureSettings
    from falkirk.zookeeper_node.session.session import Session


class ControllerRole:
    """What the node asks of its controller, whether it is the controller or not.

    Call `start` once the broker is registered, in each session; `recheck` when brokers or the features znode have
    changed; `refresh` now and then; `tick` in each step.
    """

    def __init__(
        self,
        session: Session,
        node_id: int,
        settings: FeatureSettings,
        cluster: ClusterView,
        *,
        now_ms: Callable[[], int],
        effects: Callable[[Effect], None],
    ) -> None:
        self._session = session
        self._settings = settings
        self._cluster = cluster
        self._effects = effects
        self._active: FeatureController | None = None
        # Resigned ones that wait for the answer to a write.
        self._retired: list[FeatureController] = []
        self._election = ControllerElection(
            session, node_id, now_ms=now_ms, elected=self._elected, resigned=self._resigned, effects=effects
        )
        session.on_state(self._session_changed)

    @property
    def controller_id(self) -> int:
        """The current controller as far as this node knows; -1 if there is none."""
        return self._election.controller_id

    @property
    def election(self) -> WonElection | None:
        """The election that this node has won; None while it is not the controller."""
        return self._election.election

    @property
    def next_wakeup_ms(self) -> int | None:
        """When the next `tick` is due; None if nothing is scheduled."""
        wakeups = (controller.next_wakeup_ms for controller in self._controllers())
        return min((wakeup for wakeup in wakeups if wakeup is not None), default=None)

    def start(self) -> None:
        """Take part in elections in this session."""
        self._election.start()

    def refresh(self) -> None:
        """Check everything again: watches may have been lost."""
        self._election.check()
        self.recheck()

    def recheck(self) -> None:
        """Check again after brokers or the features znode have changed."""
        if self._active is not None:
            self._active.recheck()

    def update(
        self,
        request: UpdateFeaturesRequest,
        api_version: int,
        answer: Callable[[UpdateFeaturesResponse], None],
        now_ms: int,
    ) -> None:
        """Decide on and answer an update; NOT_CONTROLLER if this node is not the controller."""
        if self._active is None:
            answer(refused(NOT_CONTROLLER))
        else:
            self._active.update(request, api_version, answer, now_ms)

    def tick(self, now_ms: int) -> None:
        """Answer requests that have timed out."""
        for controller in self._controllers():
            controller.tick(now_ms)
        self._retired = [controller for controller in self._retired if not controller.is_done]

    def _controllers(self) -> list[FeatureController]:
        return [*self._retired, self._active] if self._active is not None else list(self._retired)

    def _elected(self, election: WonElection) -> None:
        self._active = FeatureController(
            self._session,
            self._settings,
            self._cluster,
            epoch_version=election.epoch_version,
            fenced=self._election.fenced,
            effects=self._effects,
        )
        self._active.advance()

    def _resigned(self, _reason: str) -> None:
        active, self._active = self._active, None
        assert active is not None, "it was elected"
        self._retired.append(active)
        active.retire()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED and self._active is not None:
            self._active.advance()
