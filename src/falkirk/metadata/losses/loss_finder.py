"""Applies the loss catalogue to one object after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from falkirk.metadata.losses.condition import AnyOf, RowContext, compiled
from falkirk.metadata.losses.loss import Loss, LossRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from falkirk.metadata.image.metadata_image import MetadataImage
    from falkirk.metadata.records.record_key import ObjectKey
    from falkirk.protocol.schema import WireMessage


class LossFinder:
    """The rules of a target, compiled, with what their conditions need of the whole image."""

    def __init__(self, image: MetadataImage, rules: Iterable[LossRule]) -> None:
        self.context = row_context(image)
        # Compiled conditions are looked up once: the lookup costs more than evaluating most of them.
        self._rules: dict[str, list[tuple[LossRule, Callable[[Any, RowContext], bool]]]] = {}
        for rule in rules:
            self._rules.setdefault(rule.record, []).append((rule, compiled(rule.condition)))
        self._any = {
            record: compiled(AnyOf(tuple(rule.condition for rule, _ in found))) for record, found in self._rules.items()
        }

    def has_rules(self, record: str) -> bool:
        """Return whether a rule applies to the record type."""
        return record in self._rules

    def any_of(self, record: str) -> Callable[[Any, RowContext], bool] | None:  # Any: a row
        """Return a function of (row, `context`) that is true if any rule matches; None if none applies to the type."""
        return self._any.get(record)

    def matches(self, record: str, row: Any) -> list[LossRule]:  # Any: a row, see falkirk.metadata.losses.condition
        """Return the rules whose condition holds."""
        # Most rows match no rule: one function asks for all of them.
        context, matches_any = self.context, self._any.get(record)
        if matches_any is None or not matches_any(row, context):
            return []
        return [rule for rule, holds in self._rules[record] if holds(row, context)]

    def find(
        self,
        record: str,
        key: ObjectKey,
        row: Any,  # Any: a row, see falkirk.metadata.losses.condition
        *,
        original: Callable[[], tuple[WireMessage, int] | None],
        written: Callable[[], WireMessage] | None = None,
        topic_name: str | None = None,
        rules: Iterable[LossRule] | None = None,
    ) -> Iterator[Loss]:
        """Yield the losses of one object, of which `written` is what the target level gets.

        `rules` are the matching ones, if the caller has them already.
        """
        for rule in self.matches(record, row) if rules is None else rules:
            yield Loss(
                kind=rule.kind,
                outcome=rule.outcome,
                key=key,
                record=record or row.record,
                level=rule.level,
                detail_text=rule.detail,
                row=row,
                fields=rule.fields,
                result_fields=rule.result_fields,
                make_written=written,
                make_original=original,
                topic_name=topic_name,
            )


def row_context(image: MetadataImage) -> RowContext:
    """Return what the conditions need of a whole image."""
    counts = {broker_id: len(broker.log_dirs) for broker_id, broker in image.cluster.brokers.items()}
    return RowContext(log_dir_counts=counts)
