"""The layout of a message in a release, for the few that changed without a version bump."""

from __future__ import annotations

from functools import cache

from falkirk.versions.layouts import LAYOUT_STARTS
from falkirk.versions.release import Release, all_releases


# Asked with each record that is written.
@cache
def layout_in(release: Release, message: str) -> int | None:
    """Return the layout of a message in `release`; None, the codec's default, if there is only one.

    A release between two that the schemas were read from is taken to write as the one before it; a release before the
    message's first has its first layout.
    """
    starts = LAYOUT_STARTS.get(message)
    if starts is None:
        return None
    order = [each.name for each in all_releases()]
    at = order.index(release.name)
    return max((index for index, start in enumerate(starts) if order.index(start) <= at), default=0)
