"""A loss as the image writer finds it, and the form of the rules that define one; the rules are in `loss_catalogue`.

Source: KIP-1155.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.ledger.reported_loss import ReportedLoss
from falkirk.metadata.losses.condition import Always, Condition
from falkirk.metadata.records.errors import MetadataError
from falkirk.metadata.records.plain import plain_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.protocol.schema import WireMessage
    from falkirk.versions.metadata_version import MetadataVersion

UNKNOWN_CONFIG: Final = "unknown_config"
"""Kind of a config that a release does not know."""
UNKNOWN_TAG: Final = "unknown_tagged_field"
"""Kind of a tagged field that no release knows, in a record of any type."""


class Outcome(enum.Enum):
    """What becomes of something that a level cannot hold. The values are the words of JSON."""

    LOST = "lost"
    """Removed, without effect, or only there in another form: SAFE refuses."""
    INACCESSIBLE = "inaccessible"
    """Still in the log, but ignored by older releases: SAFE goes on, and reports it."""
    FEATURE = "feature"
    """A finalized feature that is dropped or lowered, because the target cannot run it: SAFE goes on and reports it."""


class Loss(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """One thing that one object loses. `offset` and `source` are None until `locate` has found them.

    A stopped cluster can have one for each of a million partitions, so everything else is computed on demand from the
    row that the catalogue's rule matched.
    """

    kind: str
    outcome: Outcome
    key: "ObjectKey"
    # Type of the record that holds what is lost; once it is located, of the one that wrote it last.
    record: str
    # Level from which on it is held; None: at none that is known.
    level: int | None
    # `{key}` stands for the object.
    detail_text: str
    row: Any  # Any: see falkirk.metadata.losses.condition
    # Fields to report of the row, and of the record that is written instead; none of them is a secret.
    fields: tuple[str, ...]
    result_fields: tuple[str, ...] = ()
    make_written: "Callable[[], WireMessage] | None" = None
    make_original: "Callable[[], tuple[WireMessage, int] | None]"
    topic_name: str | None = None
    offset: int | None = None
    source: str | None = None

    @property
    def key_text(self) -> str:
        """The key as a phrase, `topic orders partition 3`."""
        return self.key.text(self.topic_name)

    @property
    def detail(self) -> str:
        """The sentence that says what the loss means."""
        return self.detail_text.replace("{key}", self.key_text)

    @property
    def before(self) -> dict[str, Any]:  # Any: JSON values
        """Fields before the loss, without secrets."""
        return plain_fields(self.row, self.fields)

    @property
    def after(self) -> dict[str, Any] | None:  # Any: JSON values
        """Fields of the record at the target; None: no record is left."""
        return None if self.make_written is None else plain_fields(self.make_written(), self.result_fields)

    @property
    def original(self) -> tuple[WireMessage, int] | None:
        """The whole object as (record, record version) at the image's own level, for the undo bundle."""
        return self.make_original()

    def located(self, record: str, offset: int, source: str | None) -> Loss:
        """Return the loss with the record and the place that wrote it last."""
        return msgspec.structs.replace(self, record=record, offset=offset, source=source)

    def reported(self) -> ReportedLoss:
        """Return the loss as front ends report it."""
        return ReportedLoss(
            kind=self.kind,
            key=self.key_text,
            key_fields=self.key.fields(),
            record=self.record,
            offset=self.offset,
            source=self.source,
            before=self.before,
            after=self.after,
            detail=self.detail,
        )


class LossError(MetadataError):
    """Something would be lost, and losses were not accepted."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        super().__init__(f"{loss.key_text}: {loss.detail}")


def refuse_losses(loss: Loss) -> None:
    """Raise LossError for a loss; inaccessible configs and dropped features pass."""
    if loss.outcome is Outcome.LOST:
        raise LossError(loss)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRule:
    """A record of type `record` that fulfils `condition` needs `level`; below it something is lost.

    `elr` rules also apply above their level where eligible leader replicas are disabled.
    """

    kind: str
    record: str
    level: int | None
    condition: Condition
    outcome: Outcome
    # `{key}` stands for the object.
    detail: str
    # What of the row is shown; none of them is a secret.
    fields: tuple[str, ...]
    # Fields that say what becomes of it; none: the whole record goes.
    result_fields: tuple[str, ...] = ()
    elr: bool = False
    # The record means what is lost only where the image's own level is at least `level`; below, it is lost already.
    by_meaning: bool = False
    # Records that write it, with what must be true of them: the last one is where the loss is located.
    written_by: "Mapping[str, Condition]" = field(default_factory=dict)
    # Records of changes after which the condition is true of the object, with what is true of them.
    borne_by: "Mapping[str, Condition]" = field(default_factory=dict)

    @property
    def writers(self) -> Mapping[str, Condition]:
        """Types of the records that write what can be lost, each with its condition."""
        return self.written_by or {self.record: Always()}

    @property
    def bearers(self) -> Mapping[str, Condition]:
        """Types of the records that bring what can be lost into the log, each with its condition."""
        return {self.record: self.condition, **self.borne_by}

    def applies(self, at: MetadataVersion, *, elr_enabled: bool) -> bool:
        """Return whether a target level cannot hold what the rule matches."""
        return self.level is None or at.level < self.level or (self.elr and not elr_enabled)

    def has_meaning(self, own: MetadataVersion) -> bool:
        """Return whether what the rule matches has its meaning at the image's own level."""
        return not self.by_meaning or self.level is None or own.level >= self.level
