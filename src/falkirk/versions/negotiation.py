"""API versions that client and broker have in common, and the client features that they allow. Source: KIP-35.

usable_version("Fetch", 1, wanted, offered, avoided)  # the highest that both have, avoided ones left out
common_ranges([first_broker, second_broker])          # greatest minimum, least maximum
missing_of_features(features, offered)                # the APIs that each client feature lacks
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from falkirk.protocol.messages import REQUESTS
from falkirk.versions.errors import VersionsError
from falkirk.versions.supported_range import SupportedRange

if TYPE_CHECKING:
    from collections.abc import Iterable

    from falkirk.versions.release import Release

ApiRanges = Mapping[int, SupportedRange]
"""Versions by API key."""
AvoidedVersions = Mapping[int, frozenset[int]]
"""Versions that a client must not use though both sides have them, by API key."""
_NONE: frozenset[int] = frozenset()


class UnsupportedApiError(VersionsError):
    """No version of the API can be used. `wanted` are ours, `offered` the other side's (None: it lacks the API).

    `node`: the other side, if it is known.
    """

    def __init__(
        self,
        api_name: str,
        api_key: int,
        *,
        wanted: SupportedRange | None,
        offered: SupportedRange | None,
        avoided: frozenset[int] = frozenset(),
        node: str | None = None,
    ) -> None:
        self.api_name = api_name
        self.api_key = api_key
        self.wanted = wanted
        self.offered = offered
        self.avoided = avoided
        self.node = node
        super().__init__(api_name, api_key, wanted, offered)

    def __str__(self) -> str:
        """Return one line with both ranges."""
        wanted = f"wanted {_versions(self.wanted)}"
        if self.avoided:
            wanted += f" without {', '.join(map(str, sorted(self.avoided)))}"
        where = f"{self.node}: " if self.node else ""
        return (
            f"{where}{self.api_name} (API {self.api_key}) cannot be used: {wanted}, offered {_versions(self.offered)}"
        )


class AvoidedVersionsError(VersionsError):
    """A malformed list of versions to avoid."""


def usable_version(
    api_name: str,
    api_key: int,
    wanted: SupportedRange,
    offered: SupportedRange | None,
    avoided: frozenset[int] = frozenset(),
    *,
    node: str | None = None,
) -> int:
    """Return the highest version that both sides have and that is not avoided. Raises UnsupportedApiError."""
    version = highest_usable(wanted, offered, avoided)
    if version is None:
        raise UnsupportedApiError(api_name, api_key, wanted=wanted, offered=offered, avoided=avoided, node=node)
    return version


def highest_usable(
    wanted: SupportedRange, offered: SupportedRange | None, avoided: frozenset[int] = frozenset()
) -> int | None:
    """Return the highest version that both sides have and that is not avoided; None if there is none."""
    both = None if offered is None else wanted.intersection(offered)
    if both is None:
        return None
    return next((version for version in range(both.highest, both.lowest - 1, -1) if version not in avoided), None)


def common_ranges(brokers: Iterable[ApiRanges]) -> dict[int, SupportedRange]:
    """Return the versions that all brokers offer, by API key: greatest minimum to least maximum.

    APIs that a broker lacks, and APIs whose ranges do not overlap, are left out; without brokers the result is empty.
    """
    first, *others = list(brokers) or [{}]
    common = dict(first)
    for offered in others:
        common = _intersection(common, offered)
    return dict(sorted(common.items()))


def missing_of_features(
    features: Mapping[str, ApiRanges], offered: ApiRanges, avoided: AvoidedVersions | None = None
) -> dict[str, tuple[UnsupportedApiError, ...]]:
    """Return the APIs that each client feature needs and cannot use; empty: the feature can be used.

    `features` maps a feature's name to the versions of each API that it works with; `offered` are the ranges of all
    brokers. Errors are returned, not raised, in order of API keys.
    """
    avoids = avoided or {}
    return {
        name: tuple(
            UnsupportedApiError(
                REQUESTS.get(key, "UNKNOWNRequest").removesuffix("Request"),
                key,
                wanted=wanted,
                offered=offered.get(key),
                avoided=avoids.get(key, _NONE),
            )
            for key, wanted in sorted(needed.items())
            if highest_usable(wanted, offered.get(key), avoids.get(key, _NONE)) is None
        )
        for name, needed in features.items()
    }


def broker_ranges(own: ApiRanges, controller: ApiRanges | None, release: Release) -> dict[int, SupportedRange]:
    """Return the versions that a broker offers: of forwarded APIs, only those that the active controller has too.

    `controller` None: no active controller is known, so the broker offers all its own versions. Source: KIP-590.
    """
    if controller is None:
        return dict(own)
    forwarded = {key: offered for key, offered in own.items() if release.apis[key].forwardable}
    kept = _intersection(forwarded, controller)
    return {key: kept.get(key, offered) for key, offered in own.items() if key in kept or key not in forwarded}


def parse_avoided(text: str, keys: Mapping[str, int]) -> dict[int, frozenset[int]]:
    """Read `Fetch:12-13,Metadata:9`; an API may be given by its key. `keys`: API keys by name.

    Raises AvoidedVersionsError.
    """
    avoided: dict[int, frozenset[int]] = {}
    for item in filter(None, text.split(",")):
        name, _, versions = item.strip().partition(":")
        key = int(name) if name.isascii() and name.isdigit() else keys.get(name)
        if key is None:
            raise AvoidedVersionsError(f"'{item.strip()}': no API is called '{name}'")
        avoided[key] = avoided.get(key, _NONE) | frozenset(_parse_versions(item.strip(), versions))
    return avoided


def _parse_versions(item: str, text: str) -> SupportedRange:
    try:
        versions = SupportedRange.parse(text)
    except ValueError:
        versions = None
    if versions is None:
        raise AvoidedVersionsError(f"'{item}': an API and its versions are written as Fetch:3 or Fetch:3-5")
    return versions


def _intersection(first: ApiRanges, second: ApiRanges) -> dict[int, SupportedRange]:
    common = ((key, first[key].intersection(second[key])) for key in first if key in second)
    return {key: versions for key, versions in common if versions is not None}


def _versions(versions: SupportedRange | None) -> str:
    return "none" if versions is None else f"version{'s' if versions.highest > versions.lowest else ''} {versions}"
