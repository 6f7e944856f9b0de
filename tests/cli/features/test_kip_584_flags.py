import pytest

from falkirk.cli.features.commands import FLAGS, with_command_first

COMMANDS = {"describe", "upgrade", "upgrade-all", "downgrade-all"}


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ("--describe --bootstrap-server s", "describe --bootstrap-server s"),
        ("--bootstrap-server s --describe --json", "describe --bootstrap-server s --json"),
        ("--release 3.9 --downgrade-all --dry-run", "downgrade-all --release 3.9 --dry-run"),
        ("--upgrade-all describe", "upgrade-all describe"),
        ("upgrade --describe", "upgrade --describe"),
        ("--bootstrap-server s describe --upgrade-all", "--bootstrap-server s describe --upgrade-all"),
        ("--describe --upgrade-all", "describe --upgrade-all"),
        ("--json", "--json"),
        ("", ""),
    ],
)
def test_a_flag_is_a_command_wherever_it_stands_before_one(words, read):
    assert with_command_first(words.split(), COMMANDS) == read.split()


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_asks_what_its_command_asks(falkirk, flag):
    servers = ("--bootstrap-server", "127.0.0.1:1")
    as_flag, as_command = falkirk("features", *servers, flag), falkirk("features", FLAGS[flag], *servers)
    assert as_flag == as_command
    assert as_flag.stderr == "127.0.0.1:1: cannot connect: Connection refused\n"


def test_two_commands_are_one_too_many(falkirk):
    answer = falkirk("features", "--describe", "--upgrade-all", "--bootstrap-server", "127.0.0.1:1")
    assert (answer.exit_code, "unexpected argument: --upgrade-all" in answer.stderr) == (2, True)


def test_flags_are_told_with_the_commands(falkirk):
    told = falkirk("features", "--help").stdout
    assert all(flag in told for flag in FLAGS)
