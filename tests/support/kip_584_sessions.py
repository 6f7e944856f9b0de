"""KIP-584's sample sessions with its command line tool (tests/data/kip_584), and the cluster that they start from."""

from pathlib import Path
from typing import Final, NamedTuple

from falkirk.metadata.zookeeper.finalized_features import FinalizedRange
from falkirk.versions.supported_range import SupportedRange

_FILE = Path(__file__).parent.parent / "data" / "kip_584" / "sessions.txt"
DESCRIBE, UPGRADE_ALL, DOWNGRADE_ALL = (
    "DESCRIBE FEATURES",
    "UPGRADE TO ALL LATEST FEATURES",
    "EMERGENCY DOWNGRADE ALL FEATURES",
)
UPDATE = "ADD OR UPGRADE OR DOWNGRADE OR DELETE FEATURES"

SUPPORTED: Final = {
    "consumer_offsets_topic_schema": SupportedRange(1, 1),
    "group_coordinator": SupportedRange(1, 2),
    "transaction_coordinator": SupportedRange(1, 5),
}
FINALIZED: Final = {"group_coordinator": FinalizedRange(1, 1), "transaction_coordinator": FinalizedRange(1, 4)}
"""Levels before the first two sessions; the third one returns to them from what the second one leaves."""

SUPPORTED_FOR_UPDATE: Final = SUPPORTED | {"replication_throttling": SupportedRange(1, 2)}
FINALIZED_FOR_UPDATE: Final = FINALIZED | {"replication_throttling": FinalizedRange(1, 2)}

# The table of the KIP's features, and what the tool of the release before knew of them.
_OURS: Final = {
    DESCRIBE: ("--kip-584",),
    DOWNGRADE_ALL: ("--levels", "group_coordinator:1,transaction_coordinator:4"),
}


class Session(NamedTuple):
    """One session: the words after `falkirk features`, and the printed lines."""

    words: tuple[str, ...]
    lines: tuple[str, ...]


def kip_session(heading: str, servers: str) -> Session:
    """Return one session against these servers; words that only falkirk has are added."""
    told = _FILE.read_text().partition(f"=== {heading} ===\n\n")[2].partition("\n===")[0]
    command, _, output = told.partition("\n\n")
    words = command.replace("\\", "").replace("[--dry-run]", "").split()[2:]
    words = [servers if word.startswith("kafka-broker0") else word for word in words]
    return Session((*words, *_OURS.get(heading, ())), tuple(output.strip("\n").splitlines()))
