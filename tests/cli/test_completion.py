"""`falkirk completion`: a real bash completes with its script."""

import shlex
import subprocess

import pytest

from falkirk.cli.completion import Shell, script, words_by_path


@pytest.fixture(scope="module")
def words():
    return words_by_path()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("falkirk li", ["lift"]),
        ("falkirk logdir pl", ["plan"]),
        ("falkirk logdir plan some/dir --t", ["--to", "--tombstone-orphaned-groups"]),
        ("falkirk api-versions --bootstrap-s", ["--bootstrap-server"]),
    ],
)
def test_bash_completes_commands_and_options(words, tmp_path, typed, completed):
    (tmp_path / "falkirk.bash").write_text(script(Shell.BASH, words))
    line = shlex.split(typed)
    program = f"source {tmp_path}/falkirk.bash; COMP_WORDS=({typed}); COMP_CWORD={len(line) - 1}; _falkirk"
    done = subprocess.run(
        ["bash", "-c", program + '; printf "%s\\n" "${COMPREPLY[@]}"'], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == completed


@pytest.mark.slow
def test_fish_and_zsh_get_the_same_words(words):
    assert "complete -c falkirk -n '__fish_seen_subcommand_from plan' -a '" in script(Shell.FISH, words)
    assert script(Shell.ZSH, words).startswith("#compdef falkirk\n")
