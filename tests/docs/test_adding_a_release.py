"""tools/add_release.py knows every place of a release: 4.4 is taken out of a copy of the tree, and put back."""

import os
import shutil
import subprocess
import sys

import pytest
from played_pages import ROOT

from add_release import STEPS, steps_left, words_of

NEWEST = "4.4.0"
KINDS = {".schema", ".py"}


@pytest.fixture
def tree(tmp_path):
    """A copy of all that the steps are about."""
    words = words_of(NEWEST)
    for step in STEPS:
        file = step.file.format(**words)
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, tmp_path / file)
    return tmp_path


def test_the_newest_release_is_complete():
    assert list(steps_left(ROOT, NEWEST)) == []


def test_each_place_that_a_release_is_taken_out_of_is_named_alone(tree):
    words = words_of(NEWEST)
    for step in STEPS:
        path = tree / step.file.format(**words)
        before = path.read_bytes()
        if step.text is None:
            path.unlink()
        else:
            path.write_text(path.read_text().replace(step.text.format(**words), ""))
        assert step in list(steps_left(tree, NEWEST))
        path.write_bytes(before)
    assert list(steps_left(tree, NEWEST)) == []


def test_a_release_that_nobody_added_has_all_steps_left(capsys):
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "add_release.py", "9.9.0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{len(STEPS)} of {len(STEPS)} steps are left." in done.stdout


def copy_of(folder, *names):
    for name in names:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")


def run_tool(folder, name):
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    subprocess.run([sys.executable, folder / "tools" / name], check=True, capture_output=True, env=environment)


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.suffix in KINDS}


@pytest.mark.slow
def test_messages_and_tables_of_a_release_that_was_taken_out_are_made_again_from_its_facts(tmp_path):
    made = ("schemas/messages", "src/falkirk/versions/releases")
    copy_of(tmp_path, "tools", "schemas", "src")
    facts = tmp_path / "schemas" / "facts" / f"{NEWEST}.json.gz"
    kept = facts.read_bytes()
    facts.unlink()
    (tmp_path / "src/falkirk/versions/releases/kafka_4_4_0.py").unlink()
    for tool in ("import_schemas.py", "generate_versions.py"):
        run_tool(tmp_path, tool)
    assert all(files(tmp_path / name) != files(ROOT / name) for name in made)
    facts.write_bytes(kept)
    for tool in ("import_schemas.py", "generate_versions.py"):
        run_tool(tmp_path, tool)
    for name in made:
        assert files(tmp_path / name) == files(ROOT / name)


@pytest.mark.slow
def test_the_config_table_of_a_release_that_was_taken_out_is_made_again_from_its_facts(tmp_path):
    copy_of(tmp_path, "tools", "src/falkirk/versions/configs", "tests/data/configs")
    table = "src/falkirk/versions/configs/releases/kafka_4_4_0.py"
    (tmp_path / table).unlink()
    subprocess.run([sys.executable, tmp_path / "tools" / "generate_configs.py"], check=True, capture_output=True)
    assert (tmp_path / table).read_bytes() == (ROOT / table).read_bytes()
