"""What a watch knows of one cluster, as values: the page, JSON, metrics and the journal are made of them.

What is not fresh is None or UNKNOWN here, and `unknown` has the reason.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence  # noqa: TC003 - msgspec reads annotations
from typing import Any

import msgspec

from falkirk.ledger.findings import BlockerKind  # noqa: TC001 - msgspec reads annotations
from falkirk.ledger.open_transaction import OpenTransaction  # noqa: TC001 - same


class WayState(enum.StrEnum):
    """Whether the cluster could go to an older release now."""

    OPEN = "open"
    """Nothing would be lost, and nothing is in the way."""
    CLOSED = "closed"
    """Something would be lost."""
    BLOCKED = "blocked"
    """Nothing would be lost, but something has to be settled first."""
    UNKNOWN = "unknown"
    """What it depends on is not fresh."""
    NOT_BELOW = "not_below"
    """Its level is not below the finalized one: nothing is to be lowered."""


class DriftKind(enum.StrEnum):
    """How a node differs from the others."""

    OTHER_LEVEL = "other_level"
    STALE_EPOCH = "stale_epoch"
    LAGGING_REPLICA = "lagging_replica"
    SILENT_NODE = "silent_node"
    CLOCK_DIFFERS = "clock_differs"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where something was written.

    `log`: `__cluster_metadata-0` or a coordinators' partition. `offset` is None if only a snapshot has it: then it was
    written before `end_offset`, the snapshot's. `timestamp_ms`: of its batch by its writer's clock; of a snapshot, of
    the last batch in it; None if it is unknown. `record`: its type.
    """

    log: str
    offset: int | None
    end_offset: int
    timestamp_ms: int | None
    record: str

    def __str__(self) -> str:
        if self.offset is None:
            return f"{self.record} before offset {self.end_offset} of {self.log}"
        return f"{self.record} at offset {self.offset} of {self.log}"


class FoundLoss(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that going to `releases` would lose.

    `outcome`: "lost", or "inaccessible" for what stays and has no effect. `place`: the record since which it would be
    lost. `remedy`: what brings it to an end, with `command` if there is one to copy.
    """

    kind: str
    outcome: str
    key: str
    detail: str
    place: Place
    releases: tuple[str, ...]
    remedy: str
    command: str | None


class FoundBlocker(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that has to be settled first; `remedy`: how, with `command` if there is one to copy."""

    kind: BlockerKind
    fields: Mapping[str, Any]  # Any: JSON values
    text: str
    remedy: str
    command: str | None

    def __str__(self) -> str:
        return self.text


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The way to one older release; `level` and `name` are of the metadata.version that it would have there.

    `is_lossless` and `is_blocked` are None if that is not known, `unknown` says why. Counts are by kind: `losses`,
    `inaccessible` (kept without effect), `cut_off` (members and open transactions that end if it is lowered while it
    runs; they close no way). `point_of_no_return`: of the losses, the one that was written first.
    """

    release: str
    level: int
    name: str
    state: WayState
    is_lossless: bool | None
    is_blocked: bool | None
    losses: Mapping[str, int]
    inaccessible: Mapping[str, int]
    cut_off: Mapping[str, int]
    dropped_features: tuple[str, ...]
    blockers: tuple[FoundBlocker, ...]
    point_of_no_return: FoundLoss | None
    unknown: tuple[str, ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is followed: metadata, quorum, nodes, groups, transactions.

    `as_of_ms`: when it was last read to its end, by this machine's clock; None: never. `reason`: why it is not fresh;
    `needs`: the right that is missing, as an ACL. `lag`: records that are known of and not read yet.
    """

    name: str
    is_fresh: bool
    as_of_ms: int | None
    reason: str | None = None
    needs: str | None = None
    lag: int = 0

    def reason_unknown(self, at_ms: int) -> str:
        """Return one clause on why the source is not fresh, at the time of the findings."""
        if self.reason is not None:
            return f"{self.name}: {self.reason}" + (f" (needs {self.needs})" if self.needs else "")
        if self.as_of_ms is None:
            return f"{self.name}: not read yet" + (f", {self.lag} records behind" if self.lag else "")
        return f"{self.name}: last read {max(at_ms - self.as_of_ms, 0) // 1000} s ago"


class FeatureState(msgspec.Struct, frozen=True, kw_only=True):
    """A feature; `name` is the level's for metadata.version.

    `supported`: lowest and highest level that all registered nodes have in common, None if they have none.
    `can_rise_to`: the level that it could be finalized at; None if it is there already.
    """

    feature: str
    finalized: int
    name: str | None
    supported: tuple[int, int] | None
    can_rise_to: int | None


class LowestLevel(msgspec.Struct, frozen=True, kw_only=True):
    """The lowest metadata.version that holds everything; `forced_by`: kind -> number of what does not fit below."""

    level: int
    name: str
    forced_by: Mapping[str, int]


class GroupState(msgspec.Struct, frozen=True, kw_only=True):
    """A group, and by older release what becomes of it (values of GroupVerdict)."""

    group: str
    type: str
    partition: int
    members: int
    committed_offsets: int
    verdicts: Mapping[str, str]


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """A node that differs; `node_id` is None for the cluster as a whole."""

    kind: DriftKind
    node_id: int | None
    fields: Mapping[str, Any]  # Any: JSON values
    text: str


class NodeState(msgspec.Struct, frozen=True, kw_only=True):
    """A node. `roles`: broker, controller. `answers`: None if it was not asked yet; `reason`: why it does not answer.

    `supported`: feature -> lowest and highest level, as it answers, or else as it has registered. `finalized_epoch`:
    the offset up to which it has applied the metadata log.
    """

    node_id: int
    roles: tuple[str, ...]
    endpoint: str | None
    answers: bool | None
    reason: str | None
    is_fenced: bool
    supported: Mapping[str, tuple[int, int]]
    finalized: Mapping[str, int]
    finalized_epoch: int | None


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one cluster at `at_ms` (since 1970, this machine's clock).

    `cluster`: its name in the watch, `cluster_id`: its own, None until it is known. `ways`: by rising release.
    `losses`, `groups`, `transactions`: the first ones of `loss_count`, `group_count` and `transaction_count`; `losses`
    by the order in which they were written. `groups_by_type`: type -> number.
    """

    cluster: str
    cluster_id: str | None
    at_ms: int
    is_fresh: bool
    sources: tuple[Source, ...]
    metadata_version: str | None
    features: tuple[FeatureState, ...] = ()
    ways: tuple[Way, ...] = ()
    lowest: LowestLevel | None = None
    losses: tuple[FoundLoss, ...] = ()
    loss_count: int = 0
    groups: tuple[GroupState, ...] = ()
    group_count: int = 0
    groups_by_type: Mapping[str, int] = {}
    transactions: tuple[OpenTransaction, ...] = ()
    transaction_count: int = 0
    nodes: tuple[NodeState, ...] = ()
    drift: tuple[Drift, ...] = ()
    counts: Mapping[str, int] = {}

    def way(self, release: str) -> Way | None:
        """Return the way to a release; None if it is not among them."""
        return next((way for way in self.ways if way.release == release), None)

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of a line of `falkirk watch --json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON values
        return document


class EventKind(enum.StrEnum):
    """What the journal keeps."""

    WAY_CLOSED = "way_closed"
    WAY_OPENED = "way_opened"
    WAY_BLOCKED = "way_blocked"
    WAY_UNBLOCKED = "way_unblocked"
    LEVEL_CHANGED = "level_changed"
    CLUSTER_CHANGED = "cluster_changed"
    CLUSTER_REBUILT = "cluster_rebuilt"


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened. `key` is the same however often it is found: receivers know a repetition by it.

    `at_ms`: when the record was written that did it, else when it was seen. `release`: of the way, None for other
    kinds. `fields`: the facts, `text`: the sentence made of them.
    """

    key: str
    kind: EventKind
    at_ms: int
    cluster: str
    cluster_id: str
    release: str | None
    fields: Mapping[str, Any]  # Any: JSON values
    text: str

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the document of a webhook, and of a line of `falkirk watch --json`."""
        document: dict[str, Any] = msgspec.to_builtins(self)  # Any: JSON values
        return document


def first_written(losses: Sequence[FoundLoss]) -> FoundLoss | None:
    """Return the loss that was written first, by timestamp and then offset; None of none."""
    return min(losses, key=written_order, default=None)


def written_order(loss: FoundLoss) -> tuple[int, int, str, str]:
    """Return what losses are sorted by: when they were written, where that is known."""
    place = loss.place
    return (place.timestamp_ms or 0, place.end_offset if place.offset is None else place.offset, loss.kind, loss.key)
