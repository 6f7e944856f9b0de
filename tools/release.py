"""Cut a release: `release.py VERSION [--out DIR]`, on a clean tree; nothing is pushed or uploaded.

Sets the version, turns "Unreleased" of CHANGELOG.md into the version with today's date, commits and tags `vVERSION`,
and writes to DIR (default: dist): sdist, wheel, man pages, NOTES.md, sbom.json (CycloneDX), SHA256SUMS.
"""

import argparse
import datetime as dt
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
UNRELEASED = "## Unreleased\n"
VERSION = re.compile(r"\d+\.\d+\.\d+(rc\d+)?")


class ReleaseError(Exception):
    """The release cannot be cut; the tree is as it was."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    try:
        cut(options.version, options.out.resolve())
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def cut(version: str, out: Path) -> None:
    """Do all of it. Raises ReleaseError."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version}: a version such as 0.2.0 or 0.2.0rc1 was expected")
    if git("status", "--porcelain"):
        raise ReleaseError("the tree is not clean: commit or stash first")
    if git("tag", "--list", f"v{version}"):
        raise ReleaseError(f"there is a tag v{version} already")
    if out.exists() and any(out.iterdir()):
        raise ReleaseError(f"{out} is not empty")
    notes = set_version(version)
    git("commit", "--quiet", "--all", "--message", f"release: {version}")
    git("tag", "--annotate", f"v{version}", "--message", f"falkirk {version}")
    out.mkdir(parents=True, exist_ok=True)
    # The time of the commit, so that whoever has the tag makes the same bytes.
    epoch = git("log", "-1", "--format=%ct")
    for target in ("sdist", "wheel"):
        command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"SOURCE_DATE_EPOCH": epoch}, check=True)
    _pack_man_pages(out / f"falkirk-{version}-man.tar.gz", int(epoch))
    (out / "NOTES.md").write_text(notes)
    (out / "sbom.json").write_text(json.dumps(bill_of_materials(version), indent=2) + "\n")
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(sums))
    print(f"falkirk {version} is in {out}, and tagged v{version}. Look at it, then push commit and tag.")


def _pack_man_pages(archive: Path, epoch: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(ROOT / "tools" / "man_pages.py"), folder]
        subprocess.run(command, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, check=True)
        pack(Path(folder), "man1", archive, epoch)


def pack(folder: Path, name: str, archive: Path, epoch: int) -> None:
    """Write the files of a folder into an archive as `name/...`: the same bytes each time, whoever does it and when."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w") as pages,
    ):
        for page in sorted(folder.iterdir()):
            member = tarfile.TarInfo(f"{name}/{page.name}")
            member.size, member.mtime, member.mode = page.stat().st_size, epoch, 0o644
            with page.open("rb") as content:
                pages.addfile(member, content)


def set_version(version: str) -> str:
    """Write the version to the project and the changelog; return the changelog's section. Raises ReleaseError."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    head, found, rest = changelog.partition(UNRELEASED)
    section = re.split(r"(?m)^## ", rest)[0].strip()
    if not found or not section:
        raise ReleaseError("CHANGELOG.md has nothing under Unreleased")
    today = dt.datetime.now(dt.UTC).date().isoformat()
    (ROOT / "CHANGELOG.md").write_text(f"{head}{UNRELEASED}\n## {version} - {today}\n{rest}")
    replaced = {
        ROOT / "pyproject.toml": (r'(?m)^version = ".*"$', f'version = "{version}"'),
        ROOT / "src" / "falkirk" / "__init__.py": (r'(?m)^__version__(.*) = ".*"$', rf'__version__\1 = "{version}"'),
    }
    for file, (pattern, text) in replaced.items():
        changed, count = re.subn(pattern, text, file.read_text())
        if count != 1:
            raise ReleaseError(f"{file} has no version, or several")
        file.write_text(changed)
    return f"# falkirk {version}\n\n{section}\n"


def bill_of_materials(version: str) -> dict[str, Any]:
    """Return what the lock pins, with hashes, as CycloneDX has it. Everything there is: extras, tests and tools too."""
    lock = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    pinned = re.findall(r"(?m)^([A-Za-z0-9._-]+)==([^\s;]+)(.*)$", lock)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "falkirk", "version": version}},
        "components": [
            {
                "type": "library",
                "name": name,
                "version": number,
                "purl": f"pkg:pypi/{name.lower()}@{number}",
                "hashes": [
                    {"alg": "SHA-256", "content": digest} for digest in re.findall(r"sha256:([0-9a-f]{64})", rest)
                ],
            }
            for name, number, rest in pinned
        ],
    }


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
