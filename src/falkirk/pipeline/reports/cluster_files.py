"""Names of files for clusters, whose own names may hold anything."""

from __future__ import annotations

import re
import zlib
from typing import Final

FOLDER: Final = "clusters"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_-]+")
_CHARACTERS_MAX: Final = 60


def cluster_page(cluster: str) -> str:
    """Return the path of a cluster's page in a report.

    The checksum keeps names apart that are alike up to case or to what no file name can hold.
    """
    name = cluster.encode("utf-8", "surrogatepass")
    return f"{FOLDER}/{_UNSAFE.sub('-', cluster)[:_CHARACTERS_MAX]}-{zlib.crc32(name):08x}.html"
