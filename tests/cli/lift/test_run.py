"""`falkirk lift run`, `abort` and `status` where nothing can be done: one sentence, exit status 1, nothing changed."""

import pytest

PLACE = "place: {node_id: 9001, listener: '127.0.0.1:1', directory: controller}\n"
NOTHING = "127.0.0.1:9"


def lift_file(tmp_path, *, server=NOTHING, target="3.9", more=""):
    path = tmp_path / "lift.yaml"
    path.write_text(f"bootstrap_servers: ['{server}']\ntarget: '{target}'\n{PLACE}{more}")
    return path


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, f"{NOTHING}: cannot connect: "),
        ({"server": "a.invalid:1"}, "a.invalid:1: cannot connect: Name or service not known"),
        ({"target": "3.6"}, "{path}: target: 3.6: 3.6-IV2 is below 3.7-IV0"),
        ({"more": "command_config: none.properties\n"}, "{folder}/none.properties: No such file or directory"),
        ({"more": "bootstrap_controllers: [nowhere]\n"}, "{path}: bootstrap_controllers: 'nowhere' is no server"),
    ],
)
def test_a_lift_that_cannot_begin_is_refused_in_one_sentence(falkirk, tmp_path, fields, message):
    path = lift_file(tmp_path, **fields)
    ended = falkirk("lift", "run", str(path))
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(message.format(path=path, folder=tmp_path))
    assert ended.stderr.count("\n") == 1
    assert not (tmp_path / "controller").exists()


def test_without_a_lift_there_is_nothing_to_abort(falkirk, tmp_path):
    ended = falkirk("lift", "abort", str(lift_file(tmp_path)))
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr == f"no lift is under way in {tmp_path}/lift-state\n"


def test_a_journal_that_was_damaged_is_named_with_its_line(falkirk, tmp_path):
    path = lift_file(tmp_path)
    journal = tmp_path / "lift-state" / "journal.jsonl"
    journal.parent.mkdir()
    journal.write_text("{}\n")
    ended = falkirk("lift", "run", str(path))
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"{journal}: line 1 cannot be read: ")
