"""What real releases define as configuration keys; ConfigFacts.java reads it off the jars, as JSON."""

import gzip
import json
from functools import cache
from pathlib import Path

RELEASES = ("3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0")
FOLDER = Path(__file__).parents[1] / "data" / "configs"


@cache
def config_facts(release: str) -> str:
    return gzip.decompress(_file(release).read_bytes()).decode()


def write_config_facts(release: str, facts: dict) -> None:
    text = json.dumps(facts, sort_keys=True, indent=1)
    _file(release).write_bytes(gzip.compress(text.encode(), mtime=0))


def _file(release: str) -> Path:
    return FOLDER / f"facts-{release}.json.gz"
