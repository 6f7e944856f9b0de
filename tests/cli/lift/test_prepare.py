"""`falkirk lift prepare` on directories that real Kafka wrote and that were lowered."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from archives import unpack
from stopped_clusters import hashes

from falkirk.cli import main
from falkirk.logdir.metadata_changes import bootstrap_levels

ARCHIVE = Path(__file__).parents[2] / "data" / "clusters" / "4.3.1.tar.gz"
NAME = "bootstrap.checkpoint"


@pytest.fixture(scope="module")
def old_and_lowered(tmp_path_factory):
    """Return the directories of a node of 4.3.1, and their copies at 3.9-IV0."""
    folder = tmp_path_factory.mktemp("prepare")
    unpack(ARCHIVE, folder)
    with pytest.raises(SystemExit) as ended:
        main(["logdir", "downgrade", str(folder / "data"), "--to", "3.9", "--out", str(folder / "out"), "--unsafe"])
    assert not ended.value.code
    old = sorted(path.parent for path in (folder / "data").rglob("meta.properties"))
    return old, [folder / "out" / "node-1" / path.name for path in old]


@pytest.fixture
def node(old_and_lowered, tmp_path):
    """A lowered node with the bootstrap files that it had before, as a lowering of the running cluster leaves them."""
    old, lowered = old_and_lowered
    for source, place in zip(old, lowered, strict=True):
        shutil.copytree(place, tmp_path / place.name)
        shutil.copy(source / NAME, tmp_path / place.name / NAME)
    names = [str(tmp_path / place.name) for place in lowered]
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={','.join(names)}\n")
    return file, [Path(name) for name in names]


def levels(log_dir):
    return bootstrap_levels((log_dir / NAME).read_bytes(), file=NAME)


def test_bootstrap_files_above_the_level_are_named_and_replaced_only_if_it_is_said(falkirk, node):
    file, log_dirs = node
    before = hashes(file.parent)
    dry = falkirk("lift", "prepare", file)
    assert dry.exit_code == 1
    assert "would stop at these files; --in-place replaces them" in dry.stdout
    assert hashes(file.parent) == before

    done = falkirk("lift", "prepare", file, "--in-place", "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["ready"], document["problems"]) == (0, True, [])
    assert document["bootstrap"] == [str(path / NAME) for path in log_dirs]
    assert [levels(path)["metadata.version"] for path in log_dirs] == [21] * len(log_dirs)
    assert all("group.version" not in levels(path) for path in log_dirs)
    for path, backup in zip(log_dirs, document["backups"], strict=True):
        key = f"{path.name}/{NAME}"
        assert hashes(Path(backup))[NAME] == before[key]
        assert {**hashes(path), NAME: before[key]} == {
            name.removeprefix(f"{path.name}/"): value
            for name, value in before.items()
            if name.startswith(f"{path.name}/")
        }

    again = falkirk("lift", "prepare", file, "--in-place")
    assert (again.exit_code, again.stdout.splitlines()[-1]) == (0, "Kafka 3.9 can start.")


def test_a_node_whose_level_was_not_lowered_is_not_touched(falkirk, node):
    file, _ = node
    before = hashes(file.parent)
    refused = falkirk("lift", "prepare", file, "--release", "3.8", "--in-place")
    assert refused.exit_code == 1
    assert "feature: " in refused.stdout
    assert refused.stdout.endswith("Kafka 3.8 must not start here; nothing was changed.\n")
    assert hashes(file.parent) == before


def test_a_running_node_is_refused(falkirk, node):
    file, log_dirs = node
    # Locks of this process do not hold against itself.
    script = (
        f"import fcntl, sys; file = open({str(log_dirs[0] / '.lock')!r}, 'w'); fcntl.lockf(file, fcntl.LOCK_EX); "
        "print(1, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        refused = falkirk("lift", "prepare", file, "--in-place")
        holder.communicate()
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr.endswith("is locked: node 1 is running; stop it first\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "neither log.dirs nor log.dir is set"),
        ("log.dirs=/nowhere-at-all", "named in"),
        ("config.providers=v\nlog.dirs=/d", "config.providers.v.class is not set"),
    ],
)
def test_what_cannot_be_prepared_is_named(falkirk, tmp_path, text, message):
    file = tmp_path / "server.properties"
    file.write_text(text)
    refused = falkirk("lift", "prepare", file)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert message in refused.stderr
    assert str(file) in refused.stderr


def test_log_directories_may_have_their_names_from_a_provider(falkirk, node, monkeypatch):
    file, log_dirs = node
    monkeypatch.setenv("LOG_DIRS", ",".join(map(str, log_dirs)))
    file.write_text(
        "config.providers=env\n"
        "config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider\n"
        "log.dirs=${env:LOG_DIRS}\n"
    )
    assert json.loads(falkirk("lift", "prepare", file, "--json").stdout)["bootstrap"] == [
        str(path / NAME) for path in log_dirs
    ]
