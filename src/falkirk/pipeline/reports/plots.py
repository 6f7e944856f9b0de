"""The plots of the report, as self-contained SVG for use inside the page."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
from matplotlib.colors import ListedColormap
from matplotlib.dates import date2num
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from falkirk.versions.metadata_version import MetadataVersion

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from matplotlib.axes import Axes

# Distinct for any colour vision (Okabe and Ito).
CLEAR: Final = "#009e73"
LOSSY: Final = "#e69f00"
BLOCKED: Final = "#d55e00"
# Names of clusters and clients may have any characters, and are not formulas.
_SETTINGS: Final[dict[Any, Any]] = {  # Any: Matplotlib's own names and values
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",
    "text.parse_math": False,
}
_LINES: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_CLUSTERS_DRAWN_MAX: Final = 7
_VERDICTS: Final = {"readable": CLEAR, "appears_empty": LOSSY, "unreadable": BLOCKED}


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelChange:
    """A cluster's metadata.version from a time on."""

    cluster: str
    time: datetime
    level: int


@mpl.rc_context(_SETTINGS)
def levels_over_time(changes: Sequence[LevelChange], until: Mapping[str, datetime], target: int) -> str:
    """Draw the level of each cluster over time; for many clusters, how many were at each level.

    `until` has the last known time of each cluster.
    """
    by_cluster: dict[str, list[LevelChange]] = {}
    for change in sorted(changes, key=lambda change: change.time):
        by_cluster.setdefault(change.cluster, []).append(change)
    if len(by_cluster) > _CLUSTERS_DRAWN_MAX:
        return _level_counts(by_cluster, until)
    figure, axes = _figure(height=3.4)
    levels = {target}
    for number, (cluster, of_cluster) in enumerate(sorted(by_cluster.items())):
        times = [change.time for change in of_cluster]
        of_times = [change.level for change in of_cluster]
        levels |= set(of_times)
        end = max(until.get(cluster, times[-1]), times[-1])
        axes.step(
            _dates([*times, end]),
            [*of_times, of_times[-1]],
            where="post",
            label=cluster,
            color=_LINES[number],
            marker="o",
        )
    axes.axhline(target, color="#555555", linestyle="--", linewidth=1, label="target")
    _level_ticks(axes, sorted(levels))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.xaxis_date()
    figure.autofmt_xdate()
    return _svg(figure, "levels")


@mpl.rc_context(_SETTINGS)
def groups_by_type(counts: Mapping[str, Mapping[str, int]]) -> str:
    """Draw groups by type, and their verdicts at the target: type -> verdict -> count."""
    figure, axes = _figure(height=0.8 + 0.45 * len(counts))
    types = list(counts)
    left = [0] * len(types)
    for verdict, color in _VERDICTS.items():
        widths = [counts[type_].get(verdict, 0) for type_ in types]
        if any(widths):
            axes.barh(types, widths, left=left, color=color, label=verdict.replace("_", " "))
            left = [sum(both) for both in zip(left, widths, strict=True)]
    axes.invert_yaxis()
    axes.set_xlabel("groups")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    return _svg(figure, "groups")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersions:
    """Versions of an API that a client's software uses, and whether the target offers all of them."""

    api: str
    software: str
    versions: tuple[int, ...]
    works: bool


@mpl.rc_context(_SETTINGS)
def api_versions_by_client(cells: Sequence[ApiVersions]) -> str:
    """Draw which software uses which versions of which API; versions that stop working are highlighted."""
    apis = sorted({cell.api for cell in cells})
    software = sorted({cell.software for cell in cells})
    figure, axes = _figure(height=1.2 + 0.26 * len(apis), width=max(8.0, 2.2 + 1.5 * len(software)))
    grid = [[0.0] * len(software) for _ in apis]
    for cell in cells:
        row, column = apis.index(cell.api), software.index(cell.software)
        grid[row][column] = 1.0 if cell.works else 2.0
        text = ", ".join(str(version) for version in sorted(cell.versions))
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color="black")
    axes.imshow(grid, cmap=ListedColormap(["#ffffff", "#cfe8f5", "#f3c09b"]), vmin=0, vmax=2, aspect="auto")
    axes.set_xticks(range(len(software)), software, rotation=20, ha="left")
    axes.set_yticks(range(len(apis)), apis)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return _svg(figure, "apis")


def _level_counts(by_cluster: Mapping[str, Sequence[LevelChange]], until: Mapping[str, datetime]) -> str:
    """Stack how many clusters were at each level."""
    events = sorted((change for of_cluster in by_cluster.values() for change in of_cluster), key=lambda each: each.time)
    current: dict[str, int] = {}
    times: list[datetime] = []
    counts: list[Counter[int]] = []
    for change in events:
        current[change.cluster] = change.level
        times.append(change.time)
        counts.append(Counter(current.values()))
    times.append(max([*until.values(), times[-1]]))
    counts.append(counts[-1])
    levels = sorted({change.level for change in events})
    figure, axes = _figure(height=3.6)
    colors = mpl.colormaps["viridis"].resampled(max(len(levels), 2))
    axes.stackplot(
        _dates(times),
        [[count[level] for count in counts] for level in levels],
        labels=[_level_name(level) for level in levels],
        colors=[colors(index) for index in range(len(levels))],
        step="post",
    )
    axes.set_ylabel("clusters")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    axes.xaxis_date()
    figure.autofmt_xdate()
    return _svg(figure, "levels")


def _dates(times: Sequence[datetime]) -> list[float]:
    numbers: list[float] = date2num(times).tolist()  # type: ignore[no-untyped-call] # Matplotlib has no types for it
    return numbers


def _level_ticks(axes: Axes, levels: Sequence[int]) -> None:
    axes.set_yticks(levels, [_level_name(level) for level in levels])
    axes.set_ylabel("metadata.version")


def _level_name(level: int) -> str:
    return str(MetadataVersion.of_level(level))


def _figure(*, height: float, width: float = 8.0) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _svg(figure: Figure, name: str) -> str:
    """Return the picture as an element of a page: text stays text, and nothing refers to other files."""
    out = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": name}):
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text)
    # The page sets the size.
    return re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
