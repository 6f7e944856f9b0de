"""Man pages: one for each command, with every option, and `man` has nothing to say against them."""

import os
import shutil
import subprocess

import pytest

from falkirk.cli.command_table import COMMANDS
from man_pages import main, roff


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("man")
    main([str(made)])
    return made


@pytest.mark.slow
def test_every_command_has_a_page_with_its_options(folder):
    assert {path.name for path in folder.iterdir()} == {"falkirk.1", *(f"falkirk-{each.name}.1" for each in COMMANDS)}
    assert "\\-\\-tombstone\\-orphaned\\-groups" in (folder / "falkirk-logdir.1").read_text()


@pytest.mark.slow
@pytest.mark.full
def test_man_has_nothing_to_say_against_them(folder):
    program = shutil.which("man")
    assert program is not None, "install Debian's package `man-db`"
    for page in folder.iterdir():
        command = [program, "--warnings=all", "--local-file", str(page)]
        done = subprocess.run(
            command, env=os.environ | {"LC_ALL": "C.UTF-8"}, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""


def test_text_is_escaped_for_roff():
    assert roff(".a -b\n\n'c \\d") == "\\&.a \\-b\n.PP\n\\&'c \\ed"
