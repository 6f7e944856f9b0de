"""A page of docs/reference that is generated from code."""

import sys
from pathlib import Path


def write_page(file: Path, text: str) -> int:
    """Write the page, or with `--check` on the command line report whether it is fresh. Returns the exit status."""
    if "--check" in sys.argv:
        fresh = file.exists() and file.read_text() == text
        print(f"{file.name}: {'fresh' if fresh else f'stale: run tools/{Path(sys.argv[0]).name}'}")
        return 0 if fresh else 1
    file.write_text(text)
    return 0
