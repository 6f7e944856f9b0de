"""Make the site of docs/: `make_site.py [--out DIR]` (default: site), with a folder for each version.

`development` is this tree; each tag `vX.Y.Z` that has a site is built from its own pages. The site's menu offers them,
newest release first; `index.html` leads to the newest release, or to `development` where there is none.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEVELOPMENT = "development"
_RELEASE = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_LEAD = (
    '<!doctype html><meta charset="utf-8"><title>falkirk</title>'
    '<meta http-equiv="refresh" content="0; url={0}/index.html"><a href="{0}/index.html">falkirk</a>\n'
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "site")
    make_site(ROOT, parser.parse_args().out.resolve(), build)


def make_site(root: Path, out: Path, build: Callable[[Path, Path], None]) -> None:
    """Build this tree and each release; `build` makes the site of one tree in a folder."""
    build(root, out / DEVELOPMENT)
    tags = releases_with_a_site(root)
    for tag in tags:
        with tempfile.TemporaryDirectory() as folder:
            archive = subprocess.run(["git", "archive", tag], cwd=root, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", folder], input=archive, check=True)
            build(Path(folder), out / tag[1:])
    versions = [*(tag[1:] for tag in tags), DEVELOPMENT]
    offered = [{"version": version, "title": version, "aliases": []} for version in versions]
    (out / "versions.json").write_text(json.dumps(offered) + "\n")
    (out / "index.html").write_text(_LEAD.format(versions[0]))


def releases_with_a_site(root: Path) -> list[str]:
    """Return the tags of releases whose tree has a site of this form, the newest first."""
    listed = subprocess.run(["git", "tag", "--list"], cwd=root, check=True, capture_output=True, text=True).stdout
    numbers = {tag: [*map(int, found.groups())] for tag in listed.split() if (found := _RELEASE.fullmatch(tag))}
    return sorted((tag for tag in numbers if _has_a_site(root, tag)), key=lambda tag: numbers[tag], reverse=True)


def _has_a_site(root: Path, tag: str) -> bool:
    asked = ["git", "cat-file", "-e", f"{tag}:tools/{Path(__file__).name}"]
    return subprocess.run(asked, cwd=root, check=False, capture_output=True).returncode == 0


def build(tree: Path, out: Path) -> None:
    """Build the site of a tree with MkDocs; any warning ends it."""
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(out)]
    subprocess.run(command, cwd=tree, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=True)


if __name__ == "__main__":
    main()
