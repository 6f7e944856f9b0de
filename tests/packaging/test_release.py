"""`make release`: version, changelog, tag, packages, notes, checksums and a bill of materials, in a clone."""

import hashlib
import json
import os
import subprocess
import sys

import pytest
from played_pages import ROOT

from release import pack

NAMES = {
    "NOTES.md", "SHA256SUMS", "sbom.json", "falkirk-9.8.7.tar.gz", "falkirk-9.8.7-py3-none-any.whl",
    "falkirk-9.8.7-man.tar.gz",
}  # fmt: skip


@pytest.fixture
def clone(tmp_path):
    made = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), made], check=True)
    for key, value in (("user.name", "Somebody"), ("user.email", "somebody@example.org")):
        subprocess.run(["git", "-C", made, "config", key, value], check=True)
    return made


def release(clone, *words):
    command = [sys.executable, clone / "tools" / "release.py", *words]
    return subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_release_is_cut_with_notes_checksums_and_a_bill_of_materials(clone, tmp_path):
    out = tmp_path / "out"
    done = release(clone, "9.8.7", "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in out.iterdir()} == NAMES
    for line in (out / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((out / name).read_bytes()).hexdigest() == digest
    parts = {each["name"]: each for each in json.loads((out / "sbom.json").read_text())["components"]}
    assert parts["msgspec"]["hashes"]
    assert (out / "NOTES.md").read_text().startswith("# falkirk 9.8.7\n\n### ")
    assert "## Unreleased\n\n## 9.8.7 - 20" in (clone / "CHANGELOG.md").read_text()
    tags = subprocess.run(["git", "-C", clone, "tag"], check=True, capture_output=True, text=True).stdout.split()
    assert "v9.8.7" in tags
    assert "there is a tag v9.8.7 already" in release(clone, "9.8.7", "--out", str(tmp_path / "more")).stderr


@pytest.mark.slow
def test_a_release_of_a_changed_tree_or_of_no_version_is_refused_and_changes_nothing(clone):
    (clone / "README.md").write_text("changed")
    assert "the tree is not clean" in release(clone, "9.8.7").stderr
    subprocess.run(["git", "-C", clone, "checkout", "--quiet", "."], check=True)
    assert "a version such as 0.2.0" in release(clone, "nine").stderr
    assert not subprocess.run(["git", "-C", clone, "status", "--short"], check=True, capture_output=True).stdout


def test_an_archive_is_the_same_bytes_whenever_it_is_made(tmp_path):
    made = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "falkirk.1").write_text("a page")
        os.utime(folder / "falkirk.1", (number, number))
        (folder / "falkirk.1").chmod(0o600 + number)
        pack(folder, "man1", tmp_path / f"{number}.tar.gz", 1_700_000_000)
        made.append((tmp_path / f"{number}.tar.gz").read_bytes())
    assert made[0] == made[1]
