"""AckedWritesSurvive: a metadata write that was acknowledged to an administrator is never lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.metadata.image.scram import ScramUser
from falkirk.simulation.checkers.checker import Checker
from falkirk.simulation.history.write_history import QUOTA, SCRAM_SHA_256, TOPIC_CONFIG

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.simulation.history.write_history import History, Register, TopicHistory
    from falkirk.simulation.views.replica_view import ReplicaView

_TOPIC_RESOURCE = 2


class AckedWritesSurvive(Checker):
    """Every new active controller has every acknowledged write, and in the end every replica has.

    `are_requests_repeated`: a repeated request may set a value back to one that was requested earlier.
    """

    def __init__(self, history: History, *, are_requests_repeated: bool) -> None:
        self._history = history
        self._are_requests_repeated = are_requests_repeated
        self._active: tuple[int, int] | None = None

    def after_step(self, replica: ReplicaView) -> None:
        """Check the image of a new active controller."""
        if not replica.is_active_controller:
            return
        active = replica.node_id, replica.raft.leader.epoch
        if self._active is None or active[1] > self._active[1]:
            self._active = active
            self._check(replica)

    def at_end(self, replicas: Mapping[int, ReplicaView]) -> None:
        """Check the image of every replica."""
        for replica in replicas.values():
            self._check(replica)

    def _check(self, replica: ReplicaView) -> None:
        for problem in self._problems(replica.image):
            raise self.violated(f"on node {replica.node_id}, {problem}")

    def _problems(self, image: MetadataImage) -> Iterator[str]:
        history = self._history
        for name, topic in history.topics.items():
            yield from self._topic_problems(image, name, topic)
        for user, register in history.quotas.items():
            quotas = image.client_quotas.entities.get((("user", user),))
            value = None if quotas is None else quotas.get(QUOTA)
            yield from self._value_problems(f"{QUOTA} of {user}", value, register)
        for user, register in history.scram_iterations.items():
            credential = image.scram.credentials.get(ScramUser(SCRAM_SHA_256, user))
            iterations = None if credential is None else credential.iterations
            yield from self._value_problems(f"SCRAM iterations of {user}", iterations, register)
        level = image.features.metadata_version
        yield from self._value_problems("metadata.version", None if level is None else level.level, history.levels)
        if history.acls:
            principals = {acl.principal for acl in image.acls.acls.values()}
            for user, register in history.acls.items():
                yield from self._value_problems(f"ACL of {user}", f"User:{user}" in principals, register)

    def _topic_problems(self, image: MetadataImage, name: str, history: TopicHistory) -> Iterator[str]:
        topic = image.topics.topic(name)
        if history.topic_id is None:
            return
        if history.is_deletion_acknowledged:
            if topic is not None and topic.topic_id == history.topic_id:
                yield f"topic {name} is there, its deletion was acknowledged"
        elif not history.is_deletion_requested:
            if topic is None or topic.topic_id != history.topic_id:
                yield f"topic {name} is not there, its creation was acknowledged"
                return
            value = image.configs.of(_TOPIC_RESOURCE, name).get(TOPIC_CONFIG)
            yield from self._value_problems(f"{TOPIC_CONFIG} of topic {name}", value, history.config)
            yield from self._value_problems(
                f"partition count of topic {name}", topic.partition_count, history.partition_count
            )

    def _value_problems(self, what: str, value: object, register: Register) -> Iterator[str]:
        allowed = register.allowed(are_requests_repeated=self._are_requests_repeated)
        if allowed and value not in allowed:
            yield f"{what} is {value}, acknowledged was {allowed[0]}"
