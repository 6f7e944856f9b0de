"""The outcome of `--wait`: what may be started after a change of features, and what is left to do on each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.cli.console.failure import CommandFailedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.operations.downgrade_wait import DowngradeWait


@dataclass(frozen=True, slots=True)
class WaitView:
    """A `Result`."""

    wait: DowngradeWait

    @property
    def failure(self) -> CommandFailedError | None:
        """The error that the command ends with; None if every node has the change."""
        if self.wait.is_complete:
            return None
        return CommandFailedError(
            "\n".join(("the features are changed, but not every node has it yet:", *self.wait.progress.missing))
        )

    def text(self) -> Iterator[str]:
        """Yield nothing where a node lacks the change: the failure says which."""
        wait = self.wait
        if not wait.is_complete:
            return
        nodes = ", ".join(map(str, wait.progress.nodes))
        has = "the new snapshot and nothing from before it" if wait.lowers_metadata_version else "the change"
        yield f"Every node has {has}, up to offset {wait.end_offset}: {nodes}."
        for node_id, reason in wait.progress.by_log_end.items():
            yield f"  node {node_id} is judged by the end of its metadata log: {reason}"
        yield f"May be started now, one node after the other: {', '.join(release.name for release in wait.releases)}."
        for node_id, files in wait.left_to_do.items():
            for file in files:
                see_to = f"see that {file} in its metadata log directory is at the new level or gone"
                yield f"  node {node_id}: stop it, {see_to}, start the other release"
        for node_id in wait.progress.ghosts:
            yield (
                f"  broker {node_id} is registered, but not alive, and was not waited for: start it as it was, or take "
                f"it out with kafka-cluster unregister --id {node_id}"
            )

    def document(self) -> dict[str, Any]:  # Any: a JSON document
        """Return the same by fields."""
        wait = self.wait
        return {
            "end_offset": wait.end_offset,
            "nodes": list(wait.progress.nodes),
            "by_log_end": {str(node_id): reason for node_id, reason in wait.progress.by_log_end.items()},
            "ghosts": list(wait.progress.ghosts),
            "releases": [release.name for release in wait.releases],
            "left_to_do": {str(node_id): list(files) for node_id, files in wait.left_to_do.items()},
            "missing": list(wait.progress.missing),
        }
