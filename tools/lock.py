"""Write requirements.lock: every dependency and group of pyproject.toml, pinned, with hashes, naming no index."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Made by `make lock` from pyproject.toml. Do not edit.\n"


def main() -> None:
    """Resolve for Python 3.11 and all platforms; keep existing pins unless --upgrade is given."""
    lock = ROOT / "requirements.lock"
    command = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--quiet", "--universal"]
    command += ["--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
    command += ["--extra", "spark-connect", "--extra", "watch", "--extra", "zookeeper"]
    command += ["--group", "test", "--group", "lint", "--group", "bench", "--group", "docs", "--group", "build"]
    command += ["--output-file", str(lock), *sys.argv[1:]]
    subprocess.run(command, cwd=ROOT, check=True)
    lock.write_text(HEADER + lock.read_text())


if __name__ == "__main__":
    main()
