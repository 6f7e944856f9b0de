"""The site of docs/ is made without a warning, so no link or anchor in it is dead, and it names no other server."""

import json
import re
import subprocess

import pytest
from played_pages import DOCS, ROOT

from make_site import build, make_site


@pytest.mark.slow
def test_the_site_is_made_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    build(ROOT, tmp_path / "site")
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))
    loaded = [
        (page.name, found)
        for page in pages
        for found in re.findall(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]+)"', page.read_text())
    ]
    assert loaded == []
    assert (tmp_path / "site" / "search" / "search_index.json").stat().st_size > 1000


def test_each_release_has_a_site_of_its_own_tree_and_the_newest_comes_first(tmp_path):
    root = tmp_path / "clone"

    def git(*words):
        subprocess.run(["git", "-C", root, *words], check=True, capture_output=True)

    (root / "tools").mkdir(parents=True)
    git("init", "--quiet")
    for key, value in (("user.name", "Somebody"), ("user.email", "somebody@example.org")):
        git("config", key, value)
    for version in ("0.1.0", "0.2.0", "0.10.0"):
        (root / "page").write_text(version)
        # Releases before the first one with such a site have none.
        if version != "0.1.0":
            (root / "tools" / "make_site.py").touch()
        git("add", "--all")
        git("commit", "--quiet", "--message", version)
        git("tag", f"v{version}")
    git("tag", "other")
    (root / "page").write_text("development")

    def fake_build(tree, out):
        out.mkdir(parents=True)
        (out / "index.html").write_text((tree / "page").read_text())

    make_site(root, tmp_path / "site", fake_build)

    offered = [each["version"] for each in json.loads((tmp_path / "site" / "versions.json").read_text())]
    assert offered == ["0.10.0", "0.2.0", "development"]
    assert [(tmp_path / "site" / name / "index.html").read_text() for name in offered] == offered
    assert "url=0.10.0/index.html" in (tmp_path / "site" / "index.html").read_text()


def test_every_page_is_reached_from_its_folders_first_page():
    missing = []
    for readme in [
        DOCS / folder / "README.md" for folder in ("tutorial", "how-to", "runbooks", "concepts", "internals")
    ]:
        linked = set(re.findall(r"\]\(([\w-]+\.md)", readme.read_text()))
        missing += [path.name for path in readme.parent.glob("*.md") if path.name not in {"README.md", *linked}]
    assert missing == []


def test_the_readme_is_short_and_begins_with_the_two_commands():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) < 120
    commands = [line for line in lines[:25] if line.startswith(("pip install", "falkirk watch"))]
    assert len(commands) == 2


def test_the_map_of_kips_has_every_kip_that_the_code_names_with_files_and_tests_that_exist():
    page = (DOCS / "concepts/kips.md").read_text()
    rows = re.findall(r"^\| (KIP-\d+) \| .* \| (.*) \| (.*) \|$", page, re.MULTILINE)
    missing = [
        f"{kip}: {name}"
        for kip, files, tests in rows
        for folder, names in (("src/falkirk", files), ("tests", tests))
        for name in re.findall(r"`([^`]+)`", names)
        if not (ROOT / folder / name).exists()
    ]
    assert missing == []
    named = {kip for path in (ROOT / "src").rglob("*.py") for kip in re.findall(r"KIP-\d+", path.read_text())}
    assert named - {kip for kip, _files, _tests in rows} == set(), "docs/concepts/kips.md: a row for each"
