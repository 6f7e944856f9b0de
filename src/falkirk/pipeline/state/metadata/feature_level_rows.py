"""Rows of the table `feature_levels`: every change of a level that is still in the files, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from falkirk.protocol.messages import FeatureLevelRecord, KRaftVersionRecord
from falkirk.versions.features import KRAFT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from falkirk.pipeline.state.metadata.metadata_rows import OtherRecord
    from falkirk.protocol.schema import WireMessage

    Row = dict[str, Any]  # Any: values of columns


class SnapshotFacts(NamedTuple):
    """Indexes of a snapshot's files (bootstrap files are two), its epoch, and the timestamp of its end (ms).

    `timestamp` is None for the files of a cluster that never ran, which have none.
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
    """Return the changes in metadata and control records. `begins_at_0`: the log is complete from its start."""
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
    """Return the feature and level that a record sets; as in Kafka, only control records set kraft.version."""
    if isinstance(record, KRaftVersionRecord):
        return KRAFT_VERSION, record.kraft_version
    if isinstance(record, FeatureLevelRecord) and record.name != KRAFT_VERSION:
        return record.name, record.feature_level
    return None


class _History:
    """The levels so far. A feature without a record is at 0 if the history is complete, else unknown."""

    def __init__(self, files: Sequence[str], *, begins_at_0: bool) -> None:
        self._files = files
        self._is_whole = begins_at_0
        self._levels: dict[str, int] = {}
        self._rows: list[Row] = []

    def change(self, other: OtherRecord) -> None:
        """Add a record of the log."""
        self._set(other, {"offset": other.offset, "epoch": other.epoch, "timestamp": other.timestamp})

    def compare(self, snapshot: SnapshotFacts, records: Sequence[OtherRecord]) -> None:
        """Add a snapshot: levels that the log before it does not show were set at an unknown time."""
        self._is_whole = True
        for other in records:
            level = _level(other.message)
            assert level is not None
            if self._levels.get(level[0], 0) != level[1]:
                known = self._levels.get(level[0])
                place = {"offset": None, "epoch": snapshot.epoch, "timestamp": snapshot.timestamp}
                self._set(other, place | {"from_level": known})
        # Features go with a lowered metadata.version, without a record.
        named = {level[0] for level in map(_level, (other.message for other in records)) if level is not None}
        for feature in sorted(self._levels.keys() - named - {KRAFT_VERSION}):
            if self._levels[feature]:
                place = {"offset": None, "epoch": snapshot.epoch, "timestamp": snapshot.timestamp}
                self._set_level(feature, 0, min(snapshot.files), place)

    def rows(self) -> list[Row]:
        """Return all changes; the last of each feature is the current level."""
        last = {row["feature"]: index for index, row in enumerate(self._rows)}
        return [row | {"is_current": last[row["feature"]] == index} for index, row in enumerate(self._rows)]

    def _set(self, other: OtherRecord, place: Row) -> None:
        found = _level(other.message)
        assert found is not None
        self._set_level(*found, other.file, place)

    def _set_level(self, feature: str, level: int, file: int, place: Row) -> None:
        before = self._levels.get(feature, 0 if self._is_whole else None)
        self._levels[feature] = level
        if before != level:
            row = {"feature": feature, "from_level": before, "to_level": level, "source": self._files[file]}
            self._rows.append(row | place)
