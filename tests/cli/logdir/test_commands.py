"""`falkirk logdir` as a shell sees it: exit codes, what goes to stdout and what to stderr, and every refusal."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from group_records import Log
from made_clusters import CLUSTER_ID, SEGMENT, MadeCluster, append_metadata, data_batches, directory_id, group_batches
from stopped_clusters import DISK, hashes, plan_for

from falkirk.logdir import in_place, tree_copy, write_tree
from falkirk.logdir.downgrade import downgrade_in_place
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import (
    ConfigRecord,
    FeatureLevelRecord,
    RegisterBrokerRecord,
    UserScramCredentialRecord,
)
from falkirk.protocol.metadata_record import encode_frame
from falkirk.protocol.record import Record
from falkirk.storage.segment import SegmentReader

OTHER_CLUSTER = "EAOZYLV6ilkMchxQOLHAMg"


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "sync", lambda: None)


@pytest.fixture
def made(tmp_path) -> MadeCluster:
    """A node with two log directories: lossless down to 3.7-IV2, lossy below."""
    return MadeCluster(root=tmp_path / "data", log_dirs=2, partitions={"t-0": data_batches()}).make()


def lossy(made):
    return str(made.root), "--to", "3.7-IV0"


def lossless(made):
    return str(made.root), "--to", "3.9"


# --- Exit codes, stdout and stderr


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_plan_exits_with_0_where_nothing_would_be_lost(made, falkirk, options):
    answer = falkirk("logdir", "plan", *lossless(made), *options)
    assert (answer.exit_code, answer.stderr) == (0, "")
    if options:
        assert json.loads(answer.stdout)["lossless"] is True
    else:
        assert answer.stdout.endswith("Nothing would be lost.\n")


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_plan_exits_with_3_where_something_would_be_lost(made, falkirk, options):
    answer = falkirk("logdir", "plan", *lossy(made), *options)
    assert (answer.exit_code, answer.stderr) == (3, "")
    if options:
        found = json.loads(answer.stdout)
        assert (found["lossless"], len(found["losses"])) == (False, 2)
    else:
        assert "Would be lost: 2\n" in answer.stdout


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_plan_exits_with_1_where_something_is_in_the_way(made, falkirk, options):
    answer = falkirk("logdir", "plan", str(made.root), "--to", "4.4", *options)
    assert answer.exit_code == 1
    reason = (
        "metadata.version is 4.3-IV0, and 4.4-IV2 is above it: start the cluster and upgrade it with kafka-features"
    )
    if options:
        assert json.loads(answer.stdout)["blockers"] == [
            {"kind": "target_above", "fields": {"from": "4.3-IV0", "to": "4.4-IV2"}, "text": reason}
        ]
    else:
        page = "docs/runbooks/blockers.md#target_above"
        assert f"In the way:\n  {reason}\n    what to do: {page}\nBlocked.\n" in answer.stdout


def test_a_blocked_downgrade_exits_with_1_even_unsafe(made, falkirk, tmp_path):
    out = tmp_path / "out"
    answer = falkirk("logdir", "downgrade", str(made.root), "--to", "4.4", "--out", str(out), "--unsafe", "--json")
    assert answer.exit_code == 1
    assert "is above it" in answer.stderr
    assert json.loads(answer.stdout)["blockers"]
    assert not out.exists()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_safe_downgrade_exits_with_3_lists_every_loss_and_changes_nothing(made, falkirk, tmp_path, options):
    before = hashes(made.root)
    answer = falkirk("logdir", "downgrade", *lossy(made), "--out", str(tmp_path / "out"), *options)
    assert answer.exit_code == 3
    assert hashes(made.root) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]
    assert answer.stderr == (
        "2 things would be lost on the way to 3.7-IV0 (Kafka 3.7); nothing was changed. "
        "--unsafe goes on; what is dropped can be brought back with `falkirk logdir undo`\n"
    )
    if options:
        losses = [(loss["kind"], loss["key"], loss["offset"]) for loss in json.loads(answer.stdout)["losses"]]
        assert losses == [("broker_log_dirs", "broker 1", 2), ("directory_assignment", "topic t partition 0", 4)]
    else:
        assert "broker log dirs (1): its log directories are forgotten" in answer.stdout
        assert "broker 1  RegisterBrokerRecord at offset 2" in answer.stdout
        assert "topic t partition 0  PartitionRecord at offset 4" in answer.stdout


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_safe_downgrade_in_place_that_would_lose_something_changes_nothing_either(made, falkirk, tmp_path, options):
    before = hashes(tmp_path)
    answer = falkirk("logdir", "downgrade", *lossy(made), "--in-place", *options)
    assert answer.exit_code == 3
    assert hashes(tmp_path) == before


def test_an_unsafe_downgrade_goes_on_and_says_what_was_lost(made, falkirk, tmp_path):
    before = hashes(made.root)
    answer = falkirk("logdir", "downgrade", *lossy(made), "--out", str(tmp_path / "out"), "--unsafe")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert hashes(made.root) == before
    assert (
        "metadata.version 4.3-IV0 -> 3.7-IV0 (Kafka 3.7), done\nLost, and kept in the undo bundle: 2\n" in answer.stdout
    )
    assert "        controller.quorum.voters=1@host1:9093\n" in answer.stdout
    assert f"Undo bundle: {tmp_path / 'out' / 'undo-bundle.zip'}\n" in answer.stdout


def test_a_dry_run_is_the_plan(made, falkirk, tmp_path):
    before = hashes(tmp_path)
    for arguments, options in ((lossy(made), ()), (lossless(made), ()), (lossy(made), ("--in-place", "--json"))):
        json_option = [option for option in options if option == "--json"]
        planned = falkirk("logdir", "plan", *arguments, *json_option)
        assert falkirk("logdir", "downgrade", *arguments, "--dry-run", *options) == planned
    assert hashes(tmp_path) == before


def test_verify_exits_with_1_where_something_is_wrong(made, falkirk):
    assert falkirk("logdir", "verify", str(made.root)).stdout.endswith("All is well.\n")
    shutil.rmtree(made.log_dir(1, 1) / "t-0")
    answer = falkirk("logdir", "verify", str(made.root))
    assert (answer.exit_code, answer.stderr) == (1, "")
    assert answer.stdout.startswith(f"partition: {made.log_dir(1)}: no directory of t-0, which has a replica here\n")
    assert answer.stdout.endswith("1 problem.\n")


def test_verify_lists_damage_that_keeps_the_metadata_from_being_read(made, falkirk):
    flip(made.metadata(1) / f"{SEGMENT}.log", -1)
    answer = falkirk("logdir", "verify", str(made.root), "--json")
    assert (answer.exit_code, answer.stderr) == (1, "")
    [problem] = json.loads(answer.stdout)["problems"]
    assert (problem["kind"], problem["path"]) == ("checksum", str(made.metadata(1) / f"{SEGMENT}.log"))


@pytest.mark.parametrize(
    "words",
    [
        ("inspect",),
        ("plan", "DIR"),
        ("downgrade", "DIR", "--to", "3.9"),
        ("undo", "DIR", "--out", "x"),
        ("undo", "DIR", "--bundle", "x"),
        ("diff", "DIR"),
        ("verify",),
        ("plan", "DIR", "--to", "3.9", "--bogus"),
        ("bogus",),
        (),
    ],
)
def test_wrong_usage_exits_with_2(made, falkirk, words):
    answer = falkirk("logdir", *(str(made.root) if word == "DIR" else word for word in words))
    assert answer.exit_code == 2
    assert "{" not in answer.stdout


@pytest.mark.slow
def test_a_program_of_its_own_writes_json_alone_to_stdout(made, tmp_path):
    program = "from falkirk.cli import main; main()"
    words = ["logdir", "downgrade", *lossy(made), "--out", str(tmp_path / "out"), "--json"]
    ran = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 3
    assert json.loads(ran.stdout)["lossless"] is False
    assert ran.stderr.startswith("2 things would be lost")


# --- Refusals: one sentence on stderr that names the path, nothing on stdout, nothing changed


def flip(file, at):
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


def assert_refused(falkirk, made, *texts, to="3.9", out=None, commands=("inspect", "plan", "downgrade", "verify")):
    before = hashes(made.root.parent)
    for command in commands:
        words = [command, str(made.root)]
        if command in ("plan", "downgrade"):
            words += ["--to", to]
        if command == "downgrade":
            words += ["--unsafe", "--out", str(out or made.root.parent / "out")]
        for options in ((), ("--json",)):
            answer = falkirk("logdir", *words, *options)
            assert (answer.exit_code, answer.stdout) == (1, ""), command
            assert answer.stderr.count("\n") == 1
            for text in texts:
                assert text in answer.stderr
    assert hashes(made.root.parent) == before


HOLD = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print(flush=True)
sys.stdin.read()
"""


@pytest.mark.slow
@pytest.mark.parametrize("locked", [0, 1])
def test_a_running_node_is_refused(made, falkirk, locked):
    lock = made.log_dir(1, locked) / ".lock"
    command = [sys.executable, "-c", HOLD, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"\n"
        assert_refused(falkirk, made, f"{lock} is locked: node 1 is running; stop it first")
        for words in (("undo", str(made.root), "--bundle", "b", "--out", "o"), ("diff", *[str(made.root)] * 2)):
            assert falkirk("logdir", *words).stderr == f"{lock} is locked: node 1 is running; stop it first\n"
        holder.stdin.close()


def test_a_node_cannot_start_while_we_work(made, falkirk, monkeypatch, tmp_path):
    seen = []

    def try_lock(*arguments, **options):
        program = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
        for number in (0, 1):
            command = [sys.executable, "-c", program, str(made.log_dir(1, number) / ".lock")]
            seen.append(subprocess.run(command, capture_output=True, check=False).returncode)
        return check_space(*arguments, **options)

    check_space = write_tree.check_space
    monkeypatch.setattr(write_tree, "check_space", try_lock)
    assert falkirk("logdir", "downgrade", *lossless(made), "--out", str(tmp_path / "out")).exit_code == 0
    assert seen == [1, 1]
    with (made.log_dir(1) / ".lock").open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not list((tmp_path / "out").rglob(".lock"))


def test_directories_of_different_clusters_are_refused(made, falkirk):
    meta = made.log_dir(1, 1) / "meta.properties"
    meta.write_text(meta.read_text().replace(CLUSTER_ID, OTHER_CLUSTER))
    text = f"{made.log_dir(1, 1)} belongs to cluster {OTHER_CLUSTER}, {made.log_dir(1, 0)} to cluster {CLUSTER_ID}"
    assert_refused(falkirk, made, text)


@pytest.mark.slow
@pytest.mark.parametrize("kraft_version", [0, 1])
def test_a_minority_of_the_voters_is_refused(tmp_path, falkirk, kraft_version):
    made = MadeCluster(root=tmp_path / "data", voters=(1, 2, 3), kraft_version=kraft_version).make()
    shutil.rmtree(made.folder(2))
    shutil.rmtree(made.folder(3))
    assert_refused(
        falkirk, made, f"{made.log_dir(1)}: 1 of the 3 voters [1, 2, 3]", "add the directories of node 2 or 3"
    )


def test_a_majority_of_the_voters_is_enough_and_the_missing_node_is_named(tmp_path, falkirk):
    made = MadeCluster(root=tmp_path / "data", voters=(1, 2, 3)).make()
    shutil.rmtree(made.folder(3))
    answer = falkirk("logdir", "plan", str(made.root), "--to", "3.9")
    assert answer.exit_code == 0
    assert "node 3 belongs to the cluster and is not here" in answer.stdout


@pytest.mark.parametrize(
    ("to", "text"),
    [
        ("5.0", "5.0: "),
        ("3.9-IV7", "3.9-IV7: "),
        ("99", "99: "),
        ("nonsense", "nonsense: "),
        ("3.6", "3.6: 3.6-IV2 is below 3.7-IV0, the lowest level that can be gone to"),
        ("3.6-IV2", "3.6-IV2: 3.6-IV2 is below 3.7-IV0"),
        ("14", "14: 3.6-IV2 is below 3.7-IV0"),
        ("4.5-IV0", "4.5-IV0: "),
    ],
)
def test_a_level_that_is_unknown_or_too_low_is_refused(made, falkirk, to, text):
    assert_refused(falkirk, made, text, to=to, commands=("plan", "downgrade"))


def test_a_release_that_cannot_run_the_level_is_refused(made, falkirk):
    answer = falkirk("logdir", "plan", *lossless(made), "--release", "3.8")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == "Kafka 3.8.1 does not run 3.9-IV0\n"


def test_a_flipped_bit_in_the_metadata_log_is_refused_with_file_and_byte(made, falkirk):
    flip(made.metadata(1) / f"{SEGMENT}.log", -1)
    path = str(made.metadata(1) / f"{SEGMENT}.log")
    assert_refused(falkirk, made, path, "CRC", "(byte ", commands=("inspect", "plan", "downgrade"))


def test_a_flipped_bit_in_a_coordinator_partition_is_refused(tmp_path, falkirk):
    log = Log("4.3")
    log.commit("g")
    made = MadeCluster(root=tmp_path / "data", partitions={"__consumer_offsets-0": group_batches(log.entries)}).make()
    file = made.log_dir(1) / "__consumer_offsets-0" / f"{SEGMENT}.log"
    flip(file, -1)
    assert_refused(falkirk, made, str(file), "CRC", commands=("inspect", "plan", "downgrade"))


def test_a_torn_tail_is_no_damage(made, falkirk, tmp_path):
    made.append((ConfigRecord(2, "t", "retention.ms", "1"), 0))
    log = made.metadata(1) / f"{SEGMENT}.log"
    log.write_bytes(log.read_bytes()[:-2])
    answer = falkirk("logdir", "downgrade", *lossless(made), "--out", str(tmp_path / "out"), "--json")
    assert answer.exit_code == 0
    [warning] = json.loads(answer.stdout)["warnings"]
    assert (warning["kind"], warning["fields"]) == ("torn_log", {"path": str(log)})
    assert warning["text"].startswith(str(log))
    assert "torn" in warning["text"]
    found = json.loads(falkirk("logdir", "inspect", str(tmp_path / "out"), "--json").stdout)
    assert (found["end_offset"], found["counts"]["config_entries"]) == (5, 0)


def test_an_unknown_record_type_is_refused_with_its_offset(made, falkirk):
    log = made.metadata(1) / f"{SEGMENT}.log"
    data = log.read_bytes()
    end = max(batch.end_offset for batch in SegmentReader(data, file="log", base_offset=0))
    record = Record(end, 1_800_000_000_000, None, encode_frame(99, 0))
    log.write_bytes(data + build_batch([record], base_offset=end, leader_epoch=1))
    assert_refused(falkirk, made, f"at offset {end} of {log}", "99", commands=("inspect", "plan", "downgrade"))


def test_a_place_that_is_not_empty_is_refused(made, falkirk, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    assert_refused(falkirk, made, f"{tmp_path / 'out'}: not empty; name a new place", commands=("downgrade",))


def test_a_place_that_is_a_file_or_below_one_is_refused(made, falkirk, tmp_path):
    file = tmp_path / "file"
    file.touch()
    assert_refused(falkirk, made, f"{file}: not a directory", out=file, commands=("downgrade",))
    assert_refused(falkirk, made, f"{file}: cannot write there", out=file / "below", commands=("downgrade",))


def test_a_place_that_may_not_be_written_to_is_refused(made, falkirk, tmp_path, monkeypatch):
    monkeypatch.setattr(write_tree.os, "access", lambda path, _: path != tmp_path)
    text = f"{tmp_path}: cannot write there"
    assert_refused(falkirk, made, text, out=tmp_path / "out", commands=("downgrade",))


def test_a_place_that_is_a_mount_point_is_refused(made, falkirk, tmp_path, monkeypatch):
    monkeypatch.setattr(write_tree.os.path, "ismount", lambda path: path == tmp_path / "out")
    assert_refused(falkirk, made, f"{tmp_path / 'out'}: a mount point", commands=("downgrade",))


def test_a_place_inside_a_log_directory_is_refused(made, falkirk):
    out = made.log_dir(1) / "out"
    text = f"{out}: inside the log directory {made.log_dir(1)}; name a place outside"
    assert_refused(falkirk, made, text, out=out, commands=("downgrade",))


def test_too_little_space_is_refused_before_anything_is_written(made, falkirk, tmp_path, monkeypatch):
    monkeypatch.setattr(tree_copy, "_clone", lambda *_: False)
    monkeypatch.setattr(tree_copy.shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
    assert_refused(falkirk, made, str(tmp_path), "MiB to copy, 0 MiB free", commands=("downgrade",))


def test_space_that_runs_out_on_the_way_leaves_nothing(made, falkirk, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tree_copy, "_copy_file", fail)
    text = f"{tmp_path / 'out'}: No space left on device; nothing is left there"
    assert_refused(falkirk, made, text, commands=("downgrade",))


def test_space_that_runs_out_in_place_changes_nothing(made, falkirk, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    before = hashes(tmp_path)
    monkeypatch.setattr(in_place, "write_file", fail)
    answer = falkirk("logdir", "downgrade", *lossless(made), "--in-place")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert str(made.log_dir(1)) in answer.stderr
    assert "No space left on device; nothing was changed" in answer.stderr
    assert hashes(tmp_path) == before


@pytest.mark.slow
def test_a_directory_that_is_not_kafkas_and_a_path_that_is_not_there_are_refused(made, falkirk, tmp_path):
    shutil.rmtree(made.root)
    assert_refused(falkirk, made, f"{made.root}: no such directory")
    (made.root / "somebody" / "elses").mkdir(parents=True)
    text = f"{made.root}: no Kafka log directory here, nor in a folder of it (none has a meta.properties)"
    assert_refused(falkirk, made, text)


def test_a_damaged_meta_properties_is_refused(made, falkirk):
    file = made.log_dir(1) / "meta.properties"
    file.write_text("version=1\nnode.id=one\n")
    assert_refused(falkirk, made, str(file))


# --- In place


def test_in_place_goes_back_to_work_where_it_was_cut_off_and_says_so(made, falkirk, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(in_place, "_complete", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            in_place_downgrade(made)
    for command in ("inspect", "verify"):
        answer = falkirk("logdir", command, str(made.root))
        assert (answer.exit_code, answer.stdout) == (1, "")
        assert answer.stderr.startswith(
            f"{made.log_dir(1)}: a downgrade in place was cut off here; run the same `falkirk logdir"
        )
    answer = falkirk("logdir", "downgrade", *lossy(made), "--in-place", "--unsafe", "--json")
    assert answer.exit_code == 0
    assert f"{made.log_dir(1)}: an earlier downgrade was cut off; it is carried through now\n" in answer.stderr
    found = json.loads(answer.stdout)
    assert found == json.loads((made.folder(1) / "d0.falkirk-undo" / "ledger.json").read_text())
    assert falkirk("logdir", "verify", str(made.root)).exit_code == 0


def in_place_downgrade(made):
    return downgrade_in_place(DISK, plan_for("3.7-IV0", made.root), unsafe=True)


@pytest.mark.slow
def test_in_place_starts_anew_where_nothing_was_committed(made, falkirk, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(in_place, "_roll_forward", lambda _: None)
        patch.setattr(in_place, "_roll_back", lambda *_: None)
        patch.setattr(in_place, "_sync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            in_place_downgrade(made)
    answer = falkirk("logdir", "downgrade", *lossy(made), "--in-place", "--unsafe")
    assert answer.exit_code == 0
    assert f"{made.log_dir(1)}: an earlier downgrade was cut off; it is taken back now\n" in answer.stderr
    assert "The files that were replaced are beside each log directory, in <name>.falkirk-backup" in answer.stdout
    assert falkirk("logdir", "verify", str(made.root)).exit_code == 0


def test_in_place_twice_is_refused_by_the_backup(made, falkirk):
    assert falkirk("logdir", "downgrade", *lossless(made), "--in-place").exit_code == 0
    before = hashes(made.root)
    answer = falkirk("logdir", "downgrade", str(made.root), "--to", "3.7", "--in-place")
    assert (answer.exit_code, answer.stdout) == (1, "")
    backup = made.folder(1) / "d0.falkirk-backup"
    assert answer.stderr == f"{backup}: the backup of an earlier change; move it away first\n"
    assert hashes(made.root) == before


# --- Undo and diff


@pytest.mark.slow
def test_undo_and_diff_tell_the_same_on_the_screen_and_in_json(made, falkirk, tmp_path):
    out, back = tmp_path / "out", tmp_path / "back"
    falkirk("logdir", "downgrade", *lossy(made), "--out", str(out), "--unsafe")
    changed = falkirk("logdir", "diff", str(made.root), str(out), "--json")
    found = json.loads(changed.stdout)
    assert (changed.exit_code, found["same"]) == (0, False)
    assert found["counts"] == {"feature": 1, "broker": 1, "partition": 1}
    assert (found["a"]["metadata_version"], found["b"]["metadata_version"]) == ("4.3-IV0", "3.7-IV0")
    assert [(each["kind"], each["key"]) for each in found["differences"]] == [
        ("feature", "feature metadata.version"), ("broker", "broker 1"), ("partition", "topic t partition 0"),
    ]  # fmt: skip
    screen = falkirk("logdir", "diff", str(made.root), str(out)).stdout
    assert "broker:\n  ~ broker 1: log_dirs [" in screen
    assert "feature:\n  ~ feature metadata.version: feature_level 30 -> 15\n" in screen
    assert "partition:\n  ~ topic t partition 0: directories [" in screen
    assert screen.endswith("kraft.version: 1 -> 0\n")

    for node in out.glob("node-*/d0/__cluster_metadata-0"):
        append_metadata(node, [(ConfigRecord(2, "t", "retention.ms", "5"), 0)])
    words = ("logdir", "undo", str(out), "--bundle", str(out / "undo-bundle.zip"), "--out")
    text = falkirk(*words, str(back)).stdout
    assert "metadata.version 3.7-IV0 -> 4.3-IV0, done\nBrought back: 2 objects, 0 group records\n" in text
    document = json.loads(falkirk(*words, str(tmp_path / "again"), "--json").stdout)
    assert document["restored"] == {"objects": 2, "group_records": 0}
    left = falkirk("logdir", "diff", str(made.root), str(back)).stdout
    assert left == "config:\n  + config retention.ms of topic t\n"
    assert falkirk("logdir", "diff", str(back), str(tmp_path / "again")).stdout == "The metadata is the same.\n"


def test_diff_is_by_kind_and_key_with_what_is_new_gone_and_changed(tmp_path, falkirk):
    a = MadeCluster(root=tmp_path / "a", partitions={"t-0": data_batches(), "t-1": data_batches()}).make()
    b = MadeCluster(root=tmp_path / "b", partitions={"t-0": data_batches()}).make()
    secrets = [UserScramCredentialRecord("u", 1, b"salt", key, b"secret", 4096) for key in (b"one", b"two")]
    for made, value, secret in ((a, "1", secrets[0]), (b, "2", secrets[1])):
        made.append((ConfigRecord(2, "t", "retention.ms", value), 0), (secret, 0))
    b.append((ConfigRecord(4, "1", "log.retention.ms", "9"), 0))
    text = falkirk("logdir", "diff", str(a.root), str(b.root)).stdout
    assert text.startswith(
        "config:\n"
        "  ~ config retention.ms of topic t: value 1 -> 2\n"
        "  + config log.retention.ms of broker 1\n"
        "partition:\n"
        "  - topic t partition 1\n"
        "scram credential:\n"
        "  ~ user u SCRAM-SHA-256: fingerprint "
    )
    found = json.loads(falkirk("logdir", "diff", str(a.root), str(b.root), "--json").stdout)
    assert found["counts"] == {"partition": 1, "config": 2, "scram_credential": 1}
    by_key = {each["key"]: each for each in found["differences"]}
    assert by_key["config retention.ms of topic t"]["key_fields"] == {
        "resource_type": 2, "resource": "t", "config": "retention.ms",
    }  # fmt: skip
    assert by_key["topic t partition 1"]["after"] is None
    assert by_key["config log.retention.ms of broker 1"]["before"] is None
    assert "c2VjcmV0" not in json.dumps(found)
    assert b"secret".hex() not in json.dumps(found)


def test_undo_lists_conflicts_on_the_screen_and_in_json(made, falkirk, tmp_path):
    made.append((FeatureLevelRecord("group.version", 1), 0))
    out = tmp_path / "out"
    falkirk("logdir", "downgrade", *lossy(made), "--out", str(out), "--unsafe")
    for node in out.glob("node-*/d0/__cluster_metadata-0"):
        append_metadata(node, [(FeatureLevelRecord("group.version", 2), 0)])
    words = ("logdir", "undo", str(out), "--bundle", str(out / "undo-bundle.zip"), "--out")
    conflict = "feature group.version: set again since; the newer one stays"
    assert f"Newer, and left as it is:\n  {conflict}\n" in falkirk(*words, str(tmp_path / "a")).stdout
    assert json.loads(falkirk(*words, str(tmp_path / "b"), "--json").stdout)["conflicts"] == [conflict]


@pytest.mark.parametrize("damage", ["foreign", "cut", "newer", "missing"])
def test_a_bundle_that_is_foreign_or_damaged_is_refused(made, falkirk, tmp_path, damage):
    out, bundle = tmp_path / "out", tmp_path / "bundle.zip"
    falkirk("logdir", "downgrade", *lossless(made), "--out", str(out))
    data = (out / "undo-bundle.zip").read_bytes()
    texts = {
        "foreign": f"of cluster {CLUSTER_ID}, the directories are of {OTHER_CLUSTER}",
        "cut": "not an undo bundle, or a damaged one",
        "newer": "bundle format 2, this falkirk reads 1",
        "missing": "No such file or directory",
    }
    if damage == "foreign":
        bundle.write_bytes(data)
        for meta in out.glob("node-*/d*/meta.properties"):
            meta.write_text(meta.read_text().replace(CLUSTER_ID, OTHER_CLUSTER))
    elif damage == "cut":
        bundle.write_bytes(data[:-10])
    elif damage == "newer":
        rewrite_head(out / "undo-bundle.zip", bundle, format=2)
    answer = falkirk("logdir", "undo", str(out), "--bundle", str(bundle), "--out", str(tmp_path / "back"), "--json")
    assert (answer.exit_code, answer.stdout) == (1, "")
    assert answer.stderr == f"{bundle}: {texts[damage]}\n" or damage == "cut"
    assert texts[damage] in answer.stderr
    assert not (tmp_path / "back").exists()


def rewrite_head(source, target, **fields):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "x") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, json.dumps(json.loads(data) | fields) if name == "bundle.json" else data)


# --- The facts are the same on the screen and in JSON


def test_inspect_tells_the_same_on_the_screen_and_in_json(tmp_path, falkirk):
    log = Log("4.3")
    log.commit("g")
    log.value(15, "shared")
    partitions = {"__consumer_offsets-0": group_batches(log.entries), "t-0": data_batches()}
    made = MadeCluster(root=tmp_path, brokers=(2, 3), voters=(1, 2), partitions=partitions).make()
    found = json.loads(falkirk("logdir", "inspect", str(tmp_path), "--release", "4.0", "--json").stdout)
    assert found["cluster_id"] == CLUSTER_ID
    assert found["metadata_version"] == {"level": 30, "name": "4.3-IV0"}
    assert found["features"] == {"metadata.version": 30, "kraft.version": 1}
    assert {name: found["minimum_version"][name] for name in ("level", "name", "because")} == {
        "level": 15, "name": "3.7-IV0", "because": [],
    }  # fmt: skip
    assert {name: count for name, count in found["counts"].items() if count and name != "groups"} == {
        "topics": 2, "partitions": 2, "brokers": 2, "controllers": 2,
    }  # fmt: skip
    assert found["counts"]["groups"] == {"classic": 1, "consumer": 0, "share": 1, "streams": 0}
    assert (found["epoch"], found["end_offset"], found["problems"], found["voters"]) == (1, 9, [], [1, 2])
    roles = {node["node_id"]: (node["roles"], node["chosen"]) for node in found["nodes"]}
    assert roles == {1: (["controller"], True), 2: (["broker", "controller"], False), 3: (["broker"], False)}
    assert found["nodes"][0]["log_dirs"][0]["path"] == str(made.log_dir(1))
    assert found["nodes"][0]["log_dirs"][0]["holds_metadata"] is True
    assert {group["group"]: group["verdict"] for group in found["groups"]} == {"g": "readable", "shared": "unreadable"}
    assert {loss["kind"] for loss in found["group_losses"]} == {"group_record", "share_group"}

    screen = falkirk("logdir", "inspect", str(tmp_path), "--release", "4.0").stdout
    for text in (
        f"Cluster {CLUSTER_ID}\n",
        f"  node 1 [controller]: {made.log_dir(1)}  (its log counts)\n",
        f"  node 3 [broker]: {made.log_dir(3)}\n",
        "Metadata up to offset 9, epoch 1\n",
        "metadata.version 4.3-IV0 (level 30)\n",
        "Features: kraft.version 1\n",
        "Counts: 2 topics, 2 partitions, 2 brokers, 2 controllers\n",
        "Groups: 1 classic, 1 share\n",
        "To Kafka 4.0:\n  shared (share): not readable: ",
        "with it Kafka 4.0 would load no group of __consumer_offsets-0: ",
        "Held without loss from 3.7-IV0 (level 15) on\n",
    ):
        assert text in screen


def test_plan_tells_every_fact_of_its_document_on_the_screen(tmp_path, falkirk):
    log = Log("4.3")
    log.value(5, {"group_id": "g", "member_id": "m"})
    partitions = {"__consumer_offsets-0": group_batches(log.entries), "t-0": data_batches()}
    made = MadeCluster(root=tmp_path, log_dirs=2, voters=(1, 9), partitions=partitions).make()
    made.append((FeatureLevelRecord("group.version", 1), 0), (ConfigRecord(32, "g", "a.b", "1"), 0))
    made.append((broker_with_a_cordoned_directory(), 4))
    words = ("logdir", "plan", str(made.folder(1)), str(made.folder(9)), "--to", "3.7-IV0", "--all")
    found, screen = json.loads(falkirk(*words, "--json").stdout), falkirk(*words).stdout
    assert (found["from"], found["to"]) == (
        {"level": 30, "name": "4.3-IV0"}, {"level": 15, "name": "3.7-IV0", "release": "3.7.2"},
    )  # fmt: skip
    assert {loss["kind"] for loss in found["losses"]} == {
        "broker_log_dirs",
        "cordoned_log_dirs",
        "directory_assignment",
    }
    assert found["dropped_features"] == ["group.version"]
    assert found["features"]["before"] == {"metadata.version": 30, "kraft.version": 1, "group.version": 1}
    assert found["features"]["after"] == {"metadata.version": 15}
    assert found["controller_quorum_voters"] == "1@host1:9093,9@host9:9093"
    for loss in found["losses"]:
        assert f"{loss['key']} " in screen
        assert f"{loss['record']} at offset {loss['offset']}\n" in screen
    told = [*found["features"]["reasons"], *(each["text"] for each in (*found["conversions"], *found["warnings"]))]
    told += [loss["detail"] for loss in found["inaccessible"]]
    told += [f"{group['group']} ({group['type']}): {group['detail']}" for group in found["groups"]]
    assert len(told) >= 4
    for text in told:
        assert f"  {text}\n" in screen


def broker_with_a_cordoned_directory():
    dirs = (directory_id(1, 0), directory_id(1, 1))
    return RegisterBrokerRecord(broker_id=1, broker_epoch=1, fenced=False, log_dirs=dirs, cordoned_log_dirs=dirs[1:])


def test_inspect_names_what_forces_the_lowest_level(tmp_path, falkirk):
    partitions = {f"t-{number}": data_batches() for number in range(8)}
    made = MadeCluster(root=tmp_path, log_dirs=2, partitions=partitions).make()
    found = json.loads(falkirk("logdir", "inspect", str(made.root), "--json").stdout)["minimum_version"]
    assert (found["name"], found["because_count"], len(found["because"])) == ("3.7-IV2", 9, 9)
    assert found["because"][0] == {
        "kind": "broker_log_dirs", "key": "broker 1", "record": "RegisterBrokerRecord", "level": 17,
    }  # fmt: skip
    assert (
        "Held without loss from 3.7-IV2 (level 17) on\n  broker 1: broker log dirs\n"
        "  topic t partition 0: directory assignment\n  topic t partition 1: directory assignment\n"
        "  topic t partition 2: directory assignment\n  topic t partition 3: directory assignment\n  and 4 more\n"
    ) in falkirk("logdir", "inspect", str(made.root)).stdout


def test_losses_of_one_kind_with_other_meanings_each_say_theirs(tmp_path, falkirk):
    log = Log("4.3")
    log.value(15, "one")
    log.tombstone(15, "one")
    partitions = {f"__consumer_offsets-{number}": group_batches(log.entries) for number in (0, 1)}
    made = MadeCluster(root=tmp_path, partitions=partitions).make()
    found = json.loads(falkirk("logdir", "plan", str(made.root), "--to", "4.0", "--json").stdout)
    screen = falkirk("logdir", "plan", str(made.root), "--to", "4.0").stdout
    details = {loss["detail"] for loss in found["losses"] if loss["kind"] == "group_record"}
    assert len(details) > 1
    assert all(detail in screen for detail in details)


def test_losses_are_shortened_on_the_screen_unless_all_are_asked_for(tmp_path, falkirk):
    partitions = {f"t-{number}": data_batches() for number in range(8)}
    made = MadeCluster(root=tmp_path, log_dirs=2, partitions=partitions).make()
    short, whole = (
        falkirk("logdir", "plan", *lossy(made)).stdout,
        falkirk("logdir", "plan", *lossy(made), "--all").stdout,
    )
    assert "    and 3 more (--all lists them)\n" in short
    assert "topic t partition 7" not in short
    assert "topic t partition 7" in whole
