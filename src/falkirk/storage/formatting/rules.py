"""How formatting differs between releases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRules:
    """The abilities and the texts of one release's tool."""

    has_feature_option: bool = True
    # Features other than metadata.version are checked, and written unless their level is 0.
    writes_features: bool = True
    # --standalone, --initial-controllers, --no-initial-controllers (KIP-853).
    has_dynamic_voters: bool = True
    # controller.quorum.voters decides whether the quorum is dynamic; before, the options alone did.
    configuration_decides: bool = True
    # Without --release-version, inter.broker.protocol.version of the configuration counts.
    reads_inter_broker_protocol: bool = False
    # Prints the records before it writes them.
    tells_records: bool = True
    # Directories that cannot be read are left out as long as there are others.
    skips_unreadable: bool = True
    pre_production: str = "WARNING: using pre-production metadata.version {}."


def format_rules(release: Release) -> FormatRules:
    """Return the rules of a release."""
    return _RULES[release.word]


_4_3: Final = FormatRules()
_4_1: Final = replace(_4_3, tells_records=False)
_4_0: Final = replace(_4_1, configuration_decides=False)
_3_9: Final = replace(_4_0, reads_inter_broker_protocol=True)
_3_8: Final = replace(_3_9, writes_features=False, has_dynamic_voters=False)
_3_7: Final = replace(
    _3_8,
    has_feature_option=False,
    skips_unreadable=False,
    pre_production="WARNING: using pre-production metadata version {}.",
)
_RULES: Final[Mapping[str, FormatRules]] = {
    "3.7": _3_7,
    "3.8": _3_8,
    "3.9": _3_9,
    "4.0": _4_0,
    "4.1": _4_1,
    "4.2": _4_3,
    "4.3": _4_3,
    "4.4": _4_3,
}
