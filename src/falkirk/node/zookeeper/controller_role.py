"""A broker as the controller: for each election one FeatureController, until it has answered whoever asked it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.zookeeper.feature_update import refused
from falkirk.node.zookeeper.controller_election import ControllerElection, Election
from falkirk.node.zookeeper.exchange import SessionState
from falkirk.node.zookeeper.feature_controller import FeatureController
from falkirk.node.zookeeper.feature_tasks import NOT_CONTROLLER

if TYPE_CHECKING:
    from collections.abc import Callable

    from falkirk.node.effects import Effect
    from falkirk.node.zookeeper.feature_controller import ClusterView, FeatureSettings
    from falkirk.node.zookeeper.session import Session
    from falkirk.protocol.messages import UpdateFeaturesRequest, UpdateFeaturesResponse


class ControllerRole:
    """What the node asks of its controller, whether it is the controller or not.

    To be called: `start` once the broker is registered, in each session; `look_again` when brokers or the znode of
    features have changed; `refresh` now and then; `tick` in each step.
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
        # Those that wait for the answer to a write.
        self._retired: list[FeatureController] = []
        self._election = ControllerElection(
            session, node_id, now_ms=now_ms, elected=self._elected, resigned=self._resigned, effects=effects
        )
        session.on_state(self._session_changed)

    @property
    def controller_id(self) -> int:
        """Who is the controller as far as is known here, -1 if nobody is."""
        return self._election.controller_id

    @property
    def election(self) -> Election | None:
        """What this node was elected as; None while it is not the controller."""
        return self._election.election

    @property
    def next_wakeup_ms(self) -> int | None:
        """When `tick` has something to do."""
        wakeups = (controller.next_wakeup_ms for controller in self._controllers())
        return min((wakeup for wakeup in wakeups if wakeup is not None), default=None)

    def start(self) -> None:
        """Take part in elections in this session."""
        self._election.start()

    def refresh(self) -> None:
        """Look whether all is as it was: watches may have been lost."""
        self._election.look()
        self.look_again()

    def look_again(self) -> None:
        """Take note that brokers or the znode of features have changed."""
        if self._active is not None:
            self._active.look_again()

    def update(
        self,
        request: UpdateFeaturesRequest,
        api_version: int,
        answer: Callable[[UpdateFeaturesResponse], None],
        now_ms: int,
    ) -> None:
        """Have an update decided and answered; NOT_CONTROLLER unless this node is it."""
        if self._active is None:
            answer(refused(NOT_CONTROLLER))
        else:
            self._active.update(request, api_version, answer, now_ms)

    def tick(self, now_ms: int) -> None:
        """Answer those who have waited for as long as they wanted to."""
        for controller in self._controllers():
            controller.tick(now_ms)
        self._retired = [controller for controller in self._retired if not controller.is_done]

    def _controllers(self) -> list[FeatureController]:
        return [*self._retired, self._active] if self._active is not None else list(self._retired)

    def _elected(self, election: Election) -> None:
        self._active = FeatureController(
            self._session,
            self._settings,
            self._cluster,
            epoch_version=election.epoch_version,
            fenced=self._election.fenced,
            effects=self._effects,
        )
        self._active.go_on()

    def _resigned(self, _reason: str) -> None:
        active, self._active = self._active, None
        assert active is not None, "it was elected"
        self._retired.append(active)
        active.retire()

    def _session_changed(self, state: SessionState) -> None:
        if state is SessionState.CONNECTED and self._active is not None:
            self._active.go_on()
