"""How formatting differs from release to release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatRules:
    """What the tool of one release can do, and how it says things."""

    has_feature_option: bool = True
    # Features but metadata.version are checked, and written where their level is not 0.
    writes_features: bool = True
    # --standalone, --initial-controllers, --no-initial-controllers (KIP-853).
    has_dynamic_voters: bool = True
    # controller.quorum.voters decides whether the quorum is dynamic; before, the options alone did.
    configuration_decides: bool = True
    # Without --release-version, inter.broker.protocol.version of the configuration counts.
    reads_inter_broker_protocol: bool = False
    # A version or level that does not exist is answered with the first and the last of those that do.
    tells_range_of_levels: bool = True
    # A version that does not exist, or is not production, is answered with all names.
    lists_metadata_versions: bool = True
    # Prints the records before it writes them.
    tells_records: bool = True
    # Directories that cannot be read are left out as long as there are others.
    skips_unreadable: bool = True
    reserved: str = "reserved"
    scram_too_old: str = "SCRAM is only supported in metadata.version 3.5-IV2 or later."
    bootstrap_too_old: str = (
        "Bootstrap metadata.version before 3.3-IV0 are not supported. Can't load metadata from format command"
    )
    # Of tools that do not write other features; {} is the version.
    kraft_too_old: str = "Must specify a valid KRaft metadata.version of at least 3.0-IV0."
    not_ready: str = "The metadata.version {} is not ready for production use yet."
    pre_production: str = "WARNING: using pre-production metadata.version {}."


def format_rules(release: Release) -> FormatRules:
    """Give the rules of a release."""
    return _RULES[release.word]


_4_3: Final = FormatRules()
_4_1: Final = replace(_4_3, lists_metadata_versions=False, tells_records=False)
_4_0: Final = replace(_4_1, configuration_decides=False, reserved="resrved")
_3_9: Final = replace(_4_0, reads_inter_broker_protocol=True, tells_range_of_levels=False)
_3_8: Final = replace(_3_9, writes_features=False, has_dynamic_voters=False)
_3_7: Final = replace(
    _3_8,
    has_feature_option=False,
    skips_unreadable=False,
    scram_too_old="SCRAM is only supported in metadataVersion IBP_3_5_IV2 or later.",
    bootstrap_too_old=(
        "Bootstrap metadata versions before 3.3-IV0 are not supported. Can't load metadata from format command"
    ),
    kraft_too_old="Must specify a valid KRaft metadata version of at least 3.0.",
    not_ready="Metadata version {} is not ready for production use yet.",
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
