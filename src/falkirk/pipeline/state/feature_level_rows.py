"""Rows of the table `feature_levels`: every change of a level that the files still tell, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from falkirk.protocol.messages import FeatureLevelRecord, KRaftVersionRecord
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.pipeline.state.metadata_rows import OtherRecord
    from falkirk.protocol.schema import WireMessage

    Row = dict[str, Any]  # Any: values of columns


class SnapshotFacts(NamedTuple):
    """What a snapshot says of itself: indexes of its files (bootstrap files are two), epoch, and time of its end (ms).

    `timestamp` is None for a file of a cluster that never ran, which has none.
    """

    files: frozenset[int]
    epoch: int
    timestamp: int | None


def feature_level_rows(
    records: Iterable[OtherRecord],
    files: Sequence[str],
    snapshot: SnapshotFacts | None,
    *,
    begins_at_0: bool,
) -> list[Row]:
    """Give the changes; `records` are those of the metadata and of control, `begins_at_0` tells of the log."""
    history = _History(files, begins_at_0=begins_at_0)
    changes = sorted((other for other in records if _level(other.message) is not None), key=lambda other: other.order)
    in_snapshot = frozenset() if snapshot is None else snapshot.files
    for other in changes:
        if other.is_earlier:
            history.change(other)
    if snapshot is not None:
        history.compare(snapshot, [other for other in changes if other.file in in_snapshot])
    for other in changes:
        if not other.is_earlier and other.file not in in_snapshot:
            history.change(other)
    return history.rows()


def _level(record: WireMessage) -> tuple[str, int] | None:
    """Give the feature and the level that a record sets; as in Kafka only control records set kraft.version."""
    if isinstance(record, KRaftVersionRecord):
        return KRAFT_VERSION, record.kraft_version
    if isinstance(record, FeatureLevelRecord) and record.name != KRAFT_VERSION:
        return record.name, record.feature_level
    return None


class _History:
    """The levels so far. A feature that nothing has told of is at 0 if all of the history is here, else unknown."""

    def __init__(self, files: Sequence[str], *, begins_at_0: bool) -> None:
        self._files = files
        self._is_whole = begins_at_0
        self._levels: dict[str, int] = {}
        self._rows: list[Row] = []

    def change(self, other: OtherRecord) -> None:
        """Take in a record of the log."""
        self._set(other, {"offset": other.offset, "epoch": other.epoch, "timestamp": other.timestamp})

    def compare(self, snapshot: SnapshotFacts, records: Sequence[OtherRecord]) -> None:
        """Take in a snapshot: levels that the log before it does not tell came at a time that nobody knows."""
        self._is_whole = True
        for other in records:
            level = _level(other.message)
            assert level is not None
            if self._levels.get(level[0], 0) != level[1]:
                known = self._levels.get(level[0])
                told = {"offset": None, "epoch": snapshot.epoch, "timestamp": snapshot.timestamp}
                self._set(other, told | {"from_level": known})
        # A lowered metadata.version takes features along, and no record says so.
        named = {level[0] for level in map(_level, (other.message for other in records)) if level is not None}
        for feature in sorted(self._levels.keys() - named - {KRAFT_VERSION}):
            if self._levels[feature]:
                told = {"offset": None, "epoch": snapshot.epoch, "timestamp": snapshot.timestamp}
                self._set_level(feature, 0, min(snapshot.files), told)

    def rows(self) -> list[Row]:
        """Give all changes; the last of each feature is the current level."""
        last = {row["feature"]: index for index, row in enumerate(self._rows)}
        return [row | {"is_current": last[row["feature"]] == index} for index, row in enumerate(self._rows)]

    def _set(self, other: OtherRecord, told: Row) -> None:
        found = _level(other.message)
        assert found is not None
        self._set_level(*found, other.file, told)

    def _set_level(self, feature: str, level: int, file: int, told: Row) -> None:
        before = self._levels.get(feature, 0 if self._is_whole else None)
        self._levels[feature] = level
        if before != level:
            row = {"feature": feature, "from_level": before, "to_level": level, "source": self._files[file]}
            self._rows.append(row | told)
