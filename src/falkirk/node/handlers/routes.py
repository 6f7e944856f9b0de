"""Which handler answers which API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from falkirk.node.handlers.handler import Route

# One line for each handler: `<api>.ROUTE`, in order of the API keys.
_ROUTES: Iterable[Route] = ()

ROUTES: Final[Mapping[int, Route]] = {route.api_key: route for route in _ROUTES}
