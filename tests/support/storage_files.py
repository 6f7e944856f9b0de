"""Selected files of real Kafka, with what its own decoders make of some of them."""

import gzip
import json
from pathlib import Path
from typing import Any

STORAGE = Path(__file__).parent.parent / "data" / "storage"

LOGS = sorted(STORAGE.rglob("*.log"))
SNAPSHOTS = sorted(STORAGE.rglob("*.checkpoint"))


def label(path: Path) -> str:
    """Return a file's name for a test id."""
    return path.relative_to(STORAGE).as_posix()


def kafka_reads() -> dict[str, list[dict[str, Any]]]:
    """Return, for each decoded file, the lines of its batches and records in order."""
    files: dict[str, list[dict[str, Any]]] = {}
    lines: list[dict[str, Any]] = []
    for text in gzip.decompress((STORAGE / "decoded-by-kafka.jsonl.gz").read_bytes()).splitlines():
        line = json.loads(text)
        if line["t"] == "file":
            lines = files.setdefault(line["path"], [])
        else:
            lines.append(line)
    return files
