"""The output of `falkirk lift prepare`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from falkirk.cli.console.ledger_text import listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falkirk.operations.lift_prepare import Preparation


@dataclass(frozen=True, slots=True)
class PreparationView:
    """A `Result` of `lift prepare`."""

    found: Preparation

    def text(self) -> Iterator[str]:
        """Yield what is wrong, what was changed or has to be, and the verdict."""
        found = self.found
        yield f"Node {found.node_id}: metadata.version {found.level}"
        yield from listed("In the way", [f"{each.kind}: {each.path}: {each.detail}" for each in found.problems])
        yield from listed("Brought to the level" if found.backups else "Above the level", found.bootstrap)
        yield from listed("Replaced files are in", found.backups)
        if found.is_ready:
            yield f"Kafka {found.release.word} can start."
        elif found.problems:
            yield f"Kafka {found.release.word} must not start here; nothing was changed."
        else:
            yield f"Kafka {found.release.word} would stop at these files; --in-place replaces them, with a backup."

    def document(self) -> dict[str, Any]:  # Any: JSON values
        """Return `lift prepare --json`."""
        return self.found.as_json()
