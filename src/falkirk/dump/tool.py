"""Kafka's dump tool in each release: the decoders it has, and how its text differs from that of other releases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from falkirk.versions.errors import VersionsError
from falkirk.versions.message_layouts import layout_in
from falkirk.versions.release import Release

if TYPE_CHECKING:
    from collections.abc import Mapping

    from falkirk.versions.record_support import CoordinatorRecordSupport

_INT16_MAX: Final = 0x7FFF
_NEWEST_PUBLISHED: Final = "4.3"


class DecoderKind(Enum):
    """The records of a log. The values are the tool's options, except for the last."""

    OFFSETS = "--offsets-decoder"
    TRANSACTIONS = "--transaction-log-decoder"
    METADATA = "--cluster-metadata-decoder"
    REMOTE_LOG = "--remote-log-metadata-decoder"
    SHARE_STATE = "--share-group-state-decoder"
    STRINGS = "--print-data-log"


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpText:
    """How the text of one release differs. The defaults are those of 3.7."""

    # KIP-853's control records are known by name.
    knows_voters: bool = False
    # The record of a leader change is printed in whole.
    shows_leader_change: bool = False
    # Records of coordinators are JSON; before, they had a format of their own.
    offsets_are_json: bool = False
    transactions_are_json: bool = False
    # The version of a share group's state is named "type".
    share_version_is_type: bool = False
    # Types of the group coordinator that the tool decodes, though the release may know more.
    group_types_max: int = _INT16_MAX
    # A value of an unknown version is refused; before, it was read as the latest known.
    checks_value_versions: bool = False
    decoders: frozenset[DecoderKind] = frozenset(
        {DecoderKind.OFFSETS, DecoderKind.TRANSACTIONS, DecoderKind.METADATA, DecoderKind.STRINGS}
    )
    # Rewritten in Java, which changed blanks and the order of findings.
    is_java: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpTool:
    """The tool of one release. Records are decoded as that release understands them."""

    release: Release
    text: DumpText

    def layout(self, message: str) -> int | None:
        """Return the layout in which the release has a message that changed without a version bump."""
        return layout_in(self.release, message)

    def coordinator_records(self, kind: DecoderKind) -> Mapping[int, CoordinatorRecordSupport]:
        """Return the records of a coordinator's topic that the tool decodes, by type."""
        tables = self.release.kraft
        match kind:
            case DecoderKind.OFFSETS:
                known = tables.group_records
                return {type_: known[type_] for type_ in known if type_ <= self.text.group_types_max}
            case DecoderKind.TRANSACTIONS:
                return tables.transaction_records
            case _:
                return tables.share_records


def dump_tool(release: str | None) -> DumpTool:
    """Return the tool of a release; None: of 4.3, the newest that was published.

    The tool of 4.4 is assumed to print like that of 4.3, with the records of 4.4. Raises VersionsError.
    """
    found = Release.parse(release or _NEWEST_PUBLISHED)
    text = _TEXTS.get(found.word)
    if text is None:
        raise VersionsError(f"dump-log prints as the tools of {', '.join(_TEXTS)} do; that of {found} is not known")
    return DumpTool(release=found, text=text)


_3_7: Final = DumpText()
_3_8: Final = replace(
    _3_7,
    knows_voters=True,
    offsets_are_json=True,
    group_types_max=8,
)
_3_9: Final = replace(_3_8, decoders=_3_8.decoders | {DecoderKind.REMOTE_LOG})
_4_0: Final = replace(
    _3_9,
    checks_value_versions=True,
    group_types_max=_INT16_MAX,
    share_version_is_type=True,
    decoders=_3_9.decoders | {DecoderKind.SHARE_STATE},
)
_4_1: Final = replace(_4_0, share_version_is_type=False, transactions_are_json=True, shows_leader_change=True)
_4_3: Final = replace(_4_1, is_java=True)
_TEXTS: Final = {
    "3.7": _3_7,
    "3.8": _3_8,
    "3.9": _3_9,
    "4.0": _4_0,
    "4.1": _4_1,
    "4.2": _4_1,
    "4.3": _4_3,
    "4.4": _4_3,
}
