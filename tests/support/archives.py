"""The archives of this repository."""

import subprocess
from pathlib import Path


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive by `tar`: how `tarfile` wants it differs between Debian's Python 3.11.2 and later ones."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
