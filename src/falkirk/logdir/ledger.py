"""The ledger of a plan or a downgrade as one value; its JSON is `plan --json` and `ledger.json`."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - msgspec reads the annotations when it decodes a ledger
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.ledger.findings import Blocker, Conversion, LedgerWarning  # noqa: TC001 - same
from falkirk.ledger.reported_group import ReportedGroup  # noqa: TC001 - same
from falkirk.ledger.reported_loss import ReportedLoss  # noqa: TC001 - same
from falkirk.logdir.errors import LogDirError
from falkirk.metadata.undo.undo_bundle import BUNDLE_BYTES_MAX
from falkirk.storage.bounded_read import read_bounded
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.posix_disk import PosixDisk

if TYPE_CHECKING:
    from pathlib import Path

LEDGER_FILE: Final = "ledger.json"


class Level(msgspec.Struct, frozen=True):
    """A metadata.version."""

    level: int
    name: str


class TargetLevel(Level, frozen=True):
    """A metadata.version, and the release that will run on it."""

    release: str


class FeatureLevels(msgspec.Struct, frozen=True):
    """Finalized levels by feature, and a sentence for each that is dropped or lowered."""

    before: Mapping[str, int]
    after: Mapping[str, int]
    reasons: tuple[str, ...]


class GroupTombstones(msgspec.Struct, frozen=True, kw_only=True):
    """Tombstones for one group: the first and the last offset, and how many there are by type of record."""

    group: str
    partition: str
    offsets: tuple[int, int]
    records: Mapping[str, int]


class PlanLedger(msgspec.Struct, frozen=True, kw_only=True, rename={"before": "from", "target": "to"}):
    """What a downgrade would do. `losses` begin with those of the metadata."""

    cluster_id: str
    before: Level
    target: TargetLevel
    lossless: bool
    losses: tuple[ReportedLoss, ...]
    dropped_features: tuple[str, ...]
    conversions: tuple[Conversion, ...]
    blockers: tuple[Blocker, ...]
    warnings: tuple[LedgerWarning, ...]
    inaccessible: tuple[ReportedLoss, ...]
    features: FeatureLevels
    groups: tuple[ReportedGroup, ...]
    tombstones: tuple[GroupTombstones, ...]
    controller_quorum_voters: str | None

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of `plan --json`, or for a DowngradeLedger of `downgrade --json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: same
        return document


class NewLogDir(msgspec.Struct, frozen=True):
    """A log directory, and where it is at the new level."""

    source: str
    path: str


class NewNode(msgspec.Struct, frozen=True, omit_defaults=True, rename={"quorum_voters": "controller.quorum.voters"}):
    """A node's log directories, and what it must be configured with if the voters left the log."""

    node_id: int
    log_dirs: tuple[NewLogDir, ...]
    quorum_voters: str | None = None


class DowngradeLedger(PlanLedger, frozen=True, kw_only=True):
    """What a downgrade did, and where everything is."""

    out: str
    bundle: str
    ledger: str
    nodes: tuple[NewNode, ...]


def read_ledger(folder: Path) -> DowngradeLedger:
    """Read the ledger that a downgrade left. Raises OSError, or LogDirError if it is damaged."""
    file = folder / LEDGER_FILE
    try:
        return msgspec.json.decode(read_bounded(PosixDisk(), str(file), BUNDLE_BYTES_MAX), type=DowngradeLedger)
    except CorruptFileError as long_error:
        raise LogDirError(str(long_error)) from long_error
    except msgspec.MsgspecError as error:
        raise LogDirError(f"{file}: not a ledger: {error}") from error
