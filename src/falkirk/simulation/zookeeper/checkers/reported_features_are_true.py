"""ReportedFeaturesAreTrue: the features in ApiVersions responses were in `/features`, and never go back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from falkirk.simulation.zookeeper.checkers.zookeeper_checker import ZooKeeperChecker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.protocol.messages import ApiVersionsResponse
    from falkirk.simulation.machine.wire_watch import Conversation
    from falkirk.simulation.zookeeper.world.features_truth import FeaturesTruth, Written
    from falkirk.simulation.zookeeper.world.machine import Machine

Levels = dict[str, tuple[int, int]]


class ReportedFeaturesAreTrue(ZooKeeperChecker):
    """Per process. The epoch is the znode's version: it starts over when an operator deletes the znode."""

    def __init__(self, truth: FeaturesTruth, machines: Mapping[str, Machine]) -> None:
        self._truth = truth
        self._machines = machines
        # By process: which of the writes it has told last.
        self._reported: dict[tuple[str, int], int] = {}

    def negotiating(self, conversation: Conversation, correlation_id: int) -> None:
        """Check nothing."""

    def negotiated(self, conversation: Conversation, response: ApiVersionsResponse, _: int) -> None:
        """Find the advertised features among those written."""
        machine = self._machines[conversation.server[0]]
        process = machine.name, machine.host.starts
        epoch, reported = response.finalized_features_epoch, _levels(response)
        if epoch < 0:
            if reported:
                raise self.violated(f"{machine.name} tells {reported} without an epoch")
            return
        first = self._reported.get(process, 0)
        for number in range(first, len(self._truth.writes)):
            if _matches(self._truth.writes[number], epoch, reported):
                self._reported[process] = number
                return
        last = self._truth.writes[first]
        raise self.violated(
            f"{machine.name} tells {reported} of epoch {epoch}, which has not stood so since "
            f"{last.state} of epoch {last.znode.version if last.znode else -1}, which it told"
        )

    def answered(self, conversation: Conversation, api_key: int, version: int) -> None:
        """Check nothing."""


def _levels(response: ApiVersionsResponse) -> Levels:
    return {each.name: (each.min_version_level, each.max_version_level) for each in response.finalized_features}


def _matches(written: Written, epoch: int, reported: Levels) -> bool:
    if written.znode is None or written.state is None or written.znode.version != epoch:
        return False
    features = written.state.features if written.state.is_enabled else {}
    return {name: (levels.min_level, levels.max_level) for name, levels in features.items()} == reported
