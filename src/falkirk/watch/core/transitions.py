"""What happened to the ways, from one moment to the next: the events of the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from falkirk.watch.core.findings import EventKind, FoundLoss, WatchEvent

if TYPE_CHECKING:
    from collections.abc import Mapping


class KnownWay(msgspec.Struct, frozen=True, kw_only=True):
    """A way as the journal knows it; None: not known yet."""

    is_closed: bool | None = None
    is_blocked: bool | None = None


NOTHING_KNOWN: Final = KnownWay()


class Transitions:
    """Compares verdicts with those before, and keeps the events. `known` is by release, as the journal has it."""

    def __init__(self, cluster: str, cluster_id: str, known: Mapping[str, KnownWay]) -> None:
        self.known: dict[str, KnownWay] = dict(known)
        self._cluster = cluster
        self._cluster_id = cluster_id
        self._events: list[WatchEvent] = []

    def drain(self) -> list[WatchEvent]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def is_news(self, release: str, *, is_closed: bool) -> bool:
        """Return whether a way was not known to be closed, or open."""
        return self.known.get(release, NOTHING_KNOWN).is_closed is not is_closed

    def forget(self, release: str) -> None:
        """Forget a way that leads nowhere: the cluster is at its level, or below."""
        self.known.pop(release, None)

    def way_opened(self, release: str, at: str, at_ms: int) -> None:
        """Note that nothing would be lost; that a way was open when the watch began is no event. `at`: see `_add`."""
        known = self._set(release, is_closed=False)
        if known.is_closed is not None:
            self._add(EventKind.WAY_OPENED, release, at, at_ms, {}, f"the way to {release} is open again")

    def way_closed(self, release: str, closing: FoundLoss, at: str, at_ms: int) -> None:
        """Note that something would be lost, of which `closing` was written first."""
        known = self._set(release, is_closed=True)
        fields = {"loss": msgspec.to_builtins(closing), "was_known": known.is_closed is not None}
        text = f"the way to {release} is closed: {closing.detail} ({closing.place})"
        self._add(EventKind.WAY_CLOSED, release, at, closing.place.timestamp_ms or at_ms, fields, text)

    def blockers(self, release: str, texts: tuple[str, ...], at: str, at_ms: int) -> None:
        """Note what is in the way; nothing, if there are no texts."""
        known = self._set(release, is_blocked=bool(texts))
        if known.is_blocked is bool(texts):
            return
        if texts:
            text = f"the way to {release} is blocked: {'; '.join(texts[:3])}"
            self._add(EventKind.WAY_BLOCKED, release, at, at_ms, {"blockers": list(texts)}, text)
        elif known.is_blocked is not None:
            text = f"nothing is in the way to {release} any more"
            self._add(EventKind.WAY_UNBLOCKED, release, at, at_ms, {}, text)

    def level_changed(self, before: str, after: str, *, at: str, at_ms: int) -> None:
        """Note another metadata.version."""
        text = f"metadata.version was {before} and is {after}"
        self._add(EventKind.LEVEL_CHANGED, None, at, at_ms, {"from": before, "to": after}, text)

    def _set(self, release: str, **changes: bool) -> KnownWay:
        """Set what is known of a way; return what was known."""
        known = self.known.get(release, NOTHING_KNOWN)
        self.known[release] = msgspec.structs.replace(known, **changes)
        return known

    def _add(  # noqa: PLR0917 - the fields of an event
        self, kind: EventKind, release: str | None, at: str, at_ms: int, fields: Mapping[str, object], text: str
    ) -> None:
        """Add an event. `at` says how far logs were read, so that the same event has the same key."""
        self._events.append(
            WatchEvent(
                key="/".join((self._cluster_id, kind.value, release or "-", at)),
                kind=kind,
                at_ms=at_ms,
                cluster=self._cluster,
                cluster_id=self._cluster_id,
                release=release,
                fields=fields,
                text=f"{self._cluster}: {text}",
            )
        )
