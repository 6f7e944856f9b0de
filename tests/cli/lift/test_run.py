"""`falkirk lift run`, `abort` and `status` where nothing can be done: one sentence, exit status 1, nothing changed."""

import fcntl

import msgspec
import pytest

from falkirk.lift.journal import Entry, Journal, Originals, OriginalVoter, VoterListener
from falkirk.lift.lift import Lift

VOTER = OriginalVoter(
    node_id=1, directory_id="00" * 16, listeners=(VoterListener(name="CONTROLLER", host="127.0.0.1", port=9),)
)
ORIGINALS = Originals(cluster_id="c", leader_id=1, voters=(VOTER,), levels={"metadata.version": 30}, target="3.9-IV0")
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


@pytest.mark.parametrize(("last", "is_told"), [("begun", True), ("aborted", False)])
def test_ctrl_c_says_that_nothing_was_given_back_and_what_goes_on(falkirk, tmp_path, monkeypatch, last, is_told):
    async def interrupted(_lift):
        raise KeyboardInterrupt

    monkeypatch.setattr(Lift, "run", interrupted)
    path = lift_file(tmp_path)
    journal = Journal(tmp_path / "lift-state")
    journal.append(Entry(at_ms=1, event="originals", fields=msgspec.to_builtins(ORIGINALS)))
    journal.append(Entry(at_ms=2, event=last))
    ended = falkirk("lift", "run", str(path))
    assert ended.exit_code == 130
    assert (f"nothing was given back: falkirk lift run {path} goes on" in ended.stderr) is is_told


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


@pytest.mark.parametrize(
    ("change", "last", "message"),
    [
        ({"target": "4.0-IV3"}, "begun", "the lift under way goes to 4.0-IV3, not to 3.9-IV0"),
        ({"is_in_place": True}, "begun", "place: the lift under way goes in place"),
        ({"is_in_place": True, "replaces_one": True}, "begun", "place: the lift under way goes in place of one"),
        ({}, "finished", "the lift of {folder}/lift-state is over: name another state directory"),
        ({}, "aborted", "the lift of {folder}/lift-state is over: name another state directory"),
    ],
)
def test_another_lift_in_the_state_directory_is_not_gone_on_with(falkirk, tmp_path, change, last, message):
    journal = Journal(tmp_path / "lift-state")
    fields = msgspec.to_builtins(msgspec.structs.replace(ORIGINALS, **change))
    journal.append(Entry(at_ms=1, event="originals", fields=fields))
    journal.append(Entry(at_ms=2, event=last, step="join" if last == "begun" else None))
    before = journal.read()
    ended = falkirk("lift", "run", str(lift_file(tmp_path)))
    assert (ended.exit_code, ended.stdout, ended.stderr) == (1, "", f"{message.format(folder=tmp_path)}\n")
    assert journal.read() == before


@pytest.mark.parametrize("command", ["run", "abort"])
def test_a_lift_that_another_process_works_on_is_left_alone(falkirk, tmp_path, command):
    state = tmp_path / "lift-state"
    state.mkdir()
    with (state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = falkirk("lift", command, str(lift_file(tmp_path)))
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr == f"{state}: another process works on this lift\n"
