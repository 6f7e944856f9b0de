"""`falkirk completion`: what a shell needs to complete commands, sub-commands and options.

The script is made of the program's own commands, so it names what this version has. While one types no falkirk starts.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from falkirk.cli.command_table import COMMANDS, add
from falkirk.cli.console.terminal import print_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_BASH: Final = """\
_falkirk() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" path="" each
    for each in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        [[ $each == -* ]] || path="${{path:+$path }}$each"
    done
    while :; do
        case "$path" in
{cases}
        esac
        if [[ $path == *" "* ]]; then path="${{path% *}}"; else path=""; fi
    done
}}
complete -o default -F _falkirk falkirk
"""
_CASE: Final = """\
            {path!r}) mapfile -t COMPREPLY < <(compgen -W {words!r} -- "$word"); return ;;"""
_ZSH: Final = """\
#compdef falkirk
autoload -U +X bashcompinit && bashcompinit
"""


class Shell(Enum):
    """A shell that the script is for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def command(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a script that completes falkirk's commands and options: `source <(falkirk completion bash)`."""
    print_text(script(shell, words_by_path()).removesuffix("\n"))


def words_by_path() -> dict[str, list[str]]:
    """Return what may follow each path of commands: sub-commands, then options. Imports all commands."""
    words = {"": ["--help", "--version"]}
    for each in COMMANDS:
        program = typer.Typer(add_completion=False)
        add(program, each)
        made: Any = typer.main.get_command(program)  # Any: Typer's own copy of click
        words[""].append(each.name)
        # A program with one command is that command.
        _collect(each.name, made.commands[each.name] if each.is_group else made, words)
    return words


def _collect(path: str, made: Any, words: dict[str, list[str]]) -> None:  # Any: Typer's own copy of click
    options = [option for parameter in made.params for option in parameter.opts if option.startswith("--")]
    children = getattr(made, "commands", {})
    words[path] = [*children, *options, "--help"]
    for name, child in children.items():
        _collect(f"{path} {name}", child, words)


def script(shell: Shell, words: Mapping[str, Sequence[str]]) -> str:
    """Return the script; `words`: what may follow the words of a path ("", "logdir", "logdir plan")."""
    if shell is Shell.FISH:
        lines = []
        for path, names in words.items():
            seen = f"__fish_seen_subcommand_from {path.split()[-1]}" if path else "__fish_use_subcommand"
            lines.append(f"complete -c falkirk -n '{seen}' -a '{' '.join(names)}'")
        return "\n".join(lines) + "\n"
    # The longest path first; what is behind it are arguments.
    cases = "\n".join(
        _CASE.format(path=path, words=" ".join(names))
        for path, names in sorted(words.items(), key=lambda item: -len(item[0]))
    )
    bash = _BASH.format(cases=cases)
    return bash if shell is Shell.BASH else _ZSH + bash
