"""What is new in a report against an earlier one for the same target: cluster by cluster, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from falkirk.pipeline.errors import WarehouseError
from falkirk.pipeline.reports.report_files import DOCUMENT
from falkirk.pipeline.reports.words import change_words, loss_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    Document = dict[str, Any]  # Any: JSON values
    Row = dict[str, Any]  # Any: same

_ABSENT: Final = "not in the fleet"
_COUNTED: Final = (("losses", "loss", loss_words), ("changes", "change", change_words))


@dataclass(frozen=True, slots=True)
class Difference:
    """Something of a cluster that differs: what it is, and its value before and after; None: there is none."""

    cluster: str
    what: str
    before: str | int | None
    after: str | int | None

    def as_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the object of the JSON."""
        return {"cluster": self.cluster, "what": self.what, "before": self.before, "after": self.after}


def read_document(report: Path) -> Document:
    """Read the JSON of a report's directory. Raises WarehouseError if it is none."""
    try:
        document: Any = msgspec.json.decode((report / DOCUMENT).read_bytes())  # Any: JSON values
    except (OSError, msgspec.DecodeError) as error:
        raise WarehouseError(f"{report}: no report: {error}") from error
    if not isinstance(document, dict) or not {"to", "verdicts", "minimum_versions", "made_at"} <= document.keys():
        raise WarehouseError(f"{report / DOCUMENT}: not the JSON of a fleet's report")
    found: Document = document
    return found


def diff_reports(before: Document, after: Document) -> list[Difference]:
    """Return what differs, by cluster. Raises WarehouseError for reports on different targets or clusters."""
    targets = [(document["to"]["name"], document["to"]["release"]) for document in (before, after)]
    if targets[0] != targets[1]:
        names = " and ".join(f"{name} (Kafka {release})" for name, release in targets)
        raise WarehouseError(f"the reports have different targets: {names}")
    chosen = [", ".join(document.get("only") or ("all",)) for document in (before, after)]
    if chosen[0] != chosen[1]:
        raise WarehouseError(f"the reports are on different clusters: {' and '.join(chosen)}")
    old, new = (_by_cluster(document) for document in (before, after))
    return [
        each for cluster in sorted(old.keys() | new.keys()) for each in _of(cluster, old.get(cluster), new.get(cluster))
    ]


def what_is_new(before: Document, after: Document) -> dict[str, Any]:  # Any: JSON values
    """Return the JSON of a difference: when the reports were made, how many verdicts moved, and each thing."""
    differences = diff_reports(before, after)
    return {
        "before": before["made_at"],
        "after": after["made_at"],
        "verdicts": summary(differences),
        "differences": [each.as_json() for each in differences],
    }


def _by_cluster(document: Document) -> dict[str, Row]:
    lowest = {row["cluster"]: row["metadata_version"] for row in document["minimum_versions"]}
    return {each["cluster"]: {**each, "lowest": lowest.get(each["cluster"])} for each in document["verdicts"]}


def _of(cluster: str, before: Row | None, after: Row | None) -> Iterator[Difference]:
    def differs(what: str, *values: str | int | None) -> Iterator[Difference]:
        if values[0] != values[1]:
            yield Difference(cluster, what, *values)

    yield from differs("verdict", *(_ABSENT if each is None else each["verdict"] for each in (before, after)))
    if before is None or after is None:
        return
    pair = (before, after)
    yield from differs("level", *(each["from"] and each["from"]["name"] for each in pair))
    yield from differs("lowest level without loss", *(each["lowest"] for each in pair))
    for name, noun, words in _COUNTED:
        # A report of an older falkirk has no changes.
        counts = [each.get(name, {}) for each in pair]
        for kind in sorted(counts[0].keys() | counts[1].keys()):
            yield from differs(f"{noun}: {words(kind).title}", *(count.get(kind, 0) for count in counts))
    old, new = ({blocker["text"]: None for blocker in each["blockers"]} for each in pair)
    yield from (Difference(cluster, "blocker", text, None) for text in old if text not in new)
    yield from (Difference(cluster, "blocker", None, text) for text in new if text not in old)


def summary(differences: Iterable[Difference]) -> Mapping[str, int]:
    """Count the clusters by what happened to their verdict: `better`, `worse`, `new`, `gone`."""
    rank = {"clear": 0, "lossy": 1, "blocked": 2}
    counts = dict.fromkeys(("better", "worse", "new", "gone"), 0)
    for each in differences:
        if each.what == "verdict":
            if _ABSENT in (each.before, each.after):
                counts["new" if each.before == _ABSENT else "gone"] += 1
            else:
                counts["better" if rank[str(each.after)] < rank[str(each.before)] else "worse"] += 1
    return counts
