"""AckedWritesSurvive: what an administrator was told is done stays done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.checkers.checker import Checker
from falkirk.simulation.workload.administrator import CONFIG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.simulation.replica_view import ReplicaView
    from falkirk.simulation.workload.history import History, TopicHistory

_TOPIC_RESOURCE = 2


class AckedWritesSurvive(Checker):
    """Whoever becomes the active controller has every acknowledged write, and in the end every replica has.

    `are_requests_repeated`: a repeated request may set a config back to what it was, so only its place is checked.
    """

    def __init__(self, history: History, *, are_requests_repeated: bool) -> None:
        self._history = history
        self._are_requests_repeated = are_requests_repeated
        self._active: tuple[int, int] | None = None

    def after_step(self, replica: ReplicaView) -> None:
        """Look at a new active controller's image."""
        if not replica.is_active_controller:
            return
        active = replica.node_id, replica.raft.leader.epoch
        if self._active is None or active[1] > self._active[1]:
            self._active = active
            self._check(replica)

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Look at all images."""
        for replica in replicas.values():
            self._check(replica)

    def _check(self, replica: ReplicaView) -> None:
        for name, history in self._history.topics.items():
            problem = self._problem(replica.image, name, history)
            if problem is not None:
                raise self.violated(f"on node {replica.node_id}, {problem}")

    def _problem(self, image: MetadataImage, name: str, history: TopicHistory) -> str | None:
        topic = image.topics.topic(name)
        if history.topic_id is None:
            return None
        if history.is_deletion_acknowledged:
            is_there = topic is not None and topic.topic_id == history.topic_id
            return f"topic {name} is there, its deletion was acknowledged" if is_there else None
        if history.is_deletion_asked:
            return None
        if topic is None or topic.topic_id != history.topic_id:
            return f"topic {name} is not there, its creation was acknowledged"
        return self._config_problem(image, name, history)

    def _config_problem(self, image: MetadataImage, name: str, history: TopicHistory) -> str | None:
        if not history.acknowledged_config_values:
            return None
        value = image.configs.of(_TOPIC_RESOURCE, name).get(CONFIG)
        first = 0 if self._are_requests_repeated else history.acknowledged_config_values - 1
        allowed = history.config_values[first:]
        if value in allowed:
            return None
        return f"{CONFIG} of topic {name} is {value}, acknowledged was {allowed[0]}"
