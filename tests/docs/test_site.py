"""The site of docs/ is made without a warning, so no link or anchor in it is dead, and it names no other server."""

import os
import re
import subprocess
import sys

import pytest
from played_pages import DOCS, ROOT


@pytest.mark.slow
def test_the_site_is_made_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > len(list(DOCS.rglob("*.md")))
    loaded = [
        (page.name, found)
        for page in pages
        for found in re.findall(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]+)"', page.read_text())
    ]
    assert loaded == []
    assert (tmp_path / "site" / "search" / "search_index.json").stat().st_size > 1000


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
    commands = [line for line in lines[:25] if line.startswith(("pip install", "falkirk lift check"))]
    assert len(commands) == 2


def test_files_and_tests_in_the_map_of_kips_exist():
    rows = re.findall(r"^\| (KIP-\d+) \| .* \| (.*) \| (.*) \|$", (DOCS / "concepts/kips.md").read_text(), re.MULTILINE)
    assert len(rows) > 20
    missing = [
        f"{kip}: {name}"
        for kip, files, tests in rows
        for folder, names in (("src/falkirk", files), ("tests", tests))
        for name in re.findall(r"`([^`]+)`", names)
        if not (ROOT / folder / name).exists()
    ]
    assert missing == []
