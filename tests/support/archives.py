"""The archives of this repository."""

import subprocess
from pathlib import Path

CLUSTERS = Path(__file__).parent.parent / "data" / "clusters"


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive by `tar`: how `tarfile` wants it differs between Debian's Python 3.11.2 and later ones."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)


def unpack_cluster(name: str, folder: Path) -> Path:
    """Unpack a cluster that real Kafka ran; return its `data` folder."""
    unpack(CLUSTERS / f"{name}.tar.gz", folder)
    return folder / "data"
