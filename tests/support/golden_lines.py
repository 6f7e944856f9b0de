"""The golden files: output of real Kafka's serialisers, one message per line."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from falkirk.versions import message_layouts
from falkirk.versions.release import Release

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
RELEASES = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")


def golden_lines(release: str) -> Iterator[dict[str, Any]]:
    """Yield each line but the head."""
    with gzip.open(GOLDEN / f"golden-{release}.jsonl.gz", "rt") as file:
        for text in file:
            line = json.loads(text)
            if "name" in line:
                yield line


def layout_in(release: str, name: str) -> int | None:
    """Return a release's layout of a message; None if there is only one."""
    return message_layouts.layout_in(Release.parse(release), name)
