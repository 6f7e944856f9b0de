"""`falkirk storage format` and `info`, against what the tool of each release answered and wrote."""

import base64
import gzip
import json
import random
import re
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from falkirk_command import Answer
from formatted_files import masked_files, masked_output

from falkirk.cli.console.failure import CommandFailedError
from falkirk.cli.console.kafka_tool import kafka_tool
from falkirk.cli.storage.actions import FormatArguments
from falkirk.operations.errors import OperationError
from falkirk.operations.storage_format import format_request, inspect_storage
from falkirk.storage.errors import CorruptFileError
from falkirk.storage.formatting.errors import FormatterError
from falkirk.storage.formatting.formatter import format_storage
from falkirk.storage.memory_disk import MemoryDisk
from falkirk.storage.posix_disk import PosixDisk
from falkirk.storage.properties_file import parse_properties

RECORDED = Path(__file__).parents[2] / "data" / "cli_answers"
CASES = [json.loads(line) for line in gzip.decompress((RECORDED / "storage_format.jsonl.gz").read_bytes()).splitlines()]
USAGE = [json.loads(line) for line in (RECORDED / "storage_usage.jsonl").read_text().splitlines()]
RELEASES = ["3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.1.1", "4.2.1", "4.3.1", "4.4.0"]
NOW_MS = 1_700_000_000_000
CONFIG = "server.properties"

# In the place of how a tool words wrong usage.
WRONG_USAGE = "usage"
# Files are read by the command itself; see below.
OWN_FILES = {"missing config", "config is a directory"}
# Refused, too, but in words of ours: where the tool ends with an exception of Java, or its parser takes a value for an
# option.
OWN_WORDS = {
    "bad initial controllers: -1@127.0.0.1:9093:JEXY6aqzQY-32P5TStzaFg",
    "malformed config",
    "meta.properties is a directory",
}
# The tools of 3.7 and 3.8 take an empty value for one.
EMPTY_VALUES = {"empty cluster id", "release version ", "release version , standalone", "bad initial controllers: "}
OLDER = ("3.7.2", "3.8.1")


class Run:
    """One recorded case on a disk of its own, at the place <DIR>."""

    def __init__(self, case: dict[str, Any], release: str) -> None:  # Any: JSON
        self.release = release
        self.disk = MemoryDisk()
        self.disk.make_directory("/run")
        text = case.get("text") or "".join(f"{key}={value}\n" for key, value in case["config"].items())
        self.config = text.replace("<DIR>", "/run").encode()
        for name, content in case["files"].items():
            self.disk.make_directory(str(PurePosixPath("/run", name) if name.endswith("/") else _parent(name)))
            if not name.endswith("/"):
                self.disk.write(f"/run/{name}", [content.encode()])

    def answer(self, words: list[str]) -> Answer:
        try:
            lines, exit_code = self._run(words)
        except FormatterError as error:
            return Answer(1, "".join(f"{line}\n" for line in error.notices), str(error))
        except (CommandFailedError, OperationError, CorruptFileError) as error:
            return Answer(1, "", str(error))
        return Answer(exit_code, "".join(f"{line}\n" for line in lines), "")

    def _run(self, words: list[str]) -> tuple[list[str], int]:
        tool = kafka_tool(self.release)
        if words[0] == "info":
            info = inspect_storage(tool.release, self._properties(), self.disk)
            return list(info.text()), 1 if info.problems else 0
        options, _ = parsed(words[1:]).checked(tool)
        request = format_request(tool.release, self._properties(), options)
        formatted = format_storage(request, self.disk, random.Random(1), NOW_MS)
        return list(formatted.lines), 0

    def _properties(self):
        return parse_properties(self.config).as_dict()

    def files(self, directory: str = "/run") -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        for name in self.disk.list(directory):
            path = f"{directory}/{name}"
            if self.disk.is_directory(path):
                found.update(self.files(path) or {f"{path}/".removeprefix("/run/"): b""})
            else:
                found[path.removeprefix("/run/")] = self.disk.read(path)
        return found


def _parent(name: str) -> PurePosixPath:
    return PurePosixPath("/run", name).parent


SHORT = {"-t": "--cluster-id", "-c": "--config", "-g": "--ignore-formatted", "-r": "--release-version"}
SHORT |= {"-f": "--feature", "-s": "--standalone", "-I": "--initial-controllers", "-S": "--add-scram"}
SHORT |= {"-N": "--no-initial-controllers"}


def parsed(words: list[str]) -> FormatArguments:
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        name = SHORT.get(word, word)
        is_flag = name in ("--standalone", "--ignore-formatted", "--no-initial-controllers")
        values.setdefault(name, []).append("" if is_flag else next(rest))
    last = {name: given[-1] for name, given in values.items()}
    return FormatArguments(
        cluster_id=last.get("--cluster-id"),
        config=Path(last["--config"]),
        ignore_formatted="--ignore-formatted" in last,
        release_version=last.get("--release-version"),
        metadata_version=None,
        features=tuple(values.get("--feature", ())),
        standalone="--standalone" in last,
        initial_controllers=last.get("--initial-controllers"),
        no_initial_controllers="--no-initial-controllers" in last,
        scram=tuple(values.get("--add-scram", ())),
    )


def answer_of(step: dict[str, Any], release: str) -> dict[str, Any]:  # Any: JSON
    return next(answer for answer in step["answers"] if release in answer["releases"])


def comparable(message: str) -> str:
    """A refusal without what each side words in its own way: why a file cannot be read."""
    message = message.replace("Optional[JEXY6aqzQY-32P5TStzaFg]", "JEXY6aqzQY-32P5TStzaFg")
    message = re.sub(r"(?m)^\S*meta\.properties: .*\n", "", message)
    return message.removeprefix("requirement failed: ")


def has_own_words(case: dict[str, Any], release: str, expected: dict[str, Any]) -> bool:
    if case["name"] in OWN_WORDS or expected["stderr"] == WRONG_USAGE:
        return True
    if release not in OLDER:
        return False
    return case["name"] in EMPTY_VALUES or (case["name"].startswith("scram") and expected["thrown"])


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_what_is_written_and_said_is_what_the_releases_own_tool_writes_and_says(release):
    for case in CASES:
        if case["name"] in OWN_FILES or (case["name"] == "empty cluster id" and release in OLDER):
            continue
        run = Run(case, release)
        for step in case["steps"]:
            check(case, release, answer_of(step, release), run.answer(step["arguments"]), run)


def check(case, release, expected, answer, run):
    name = (release, case["name"])
    assert (name, answer.exit_code) == (name, expected["rc"]), answer.stderr
    files = {path: base64.b64decode(content) for path, content in expected["files"].items()}
    if "scram" in case["name"] and "salt=" not in case["name"]:
        # Random salt, of random length.
        assert (name, sorted(run.files())) == (name, sorted({*files, CONFIG} - {CONFIG}))
    else:
        assert (name, masked_files(run.files())) == (name, masked_files(files))
    if has_own_words(case, release, expected):
        assert answer.stderr or "Error loading" in answer.stdout
        return
    stdout = expected["stdout"].replace("<DIR>", "/run")
    assert (name, masked_output(answer.stdout)) == (name, masked_output(stdout))
    stderr = expected["stderr"].replace("<DIR>", "/run")
    assert (name, comparable(answer.stderr)) == (name, comparable(stderr))


@pytest.mark.slow
def test_every_refusal_leaves_the_directories_as_they_were():
    refused = 0
    for case in CASES:
        run = Run(case, "4.3.1")
        for step in case["steps"]:
            before = run.files()
            if step["arguments"][0] == "format" and run.answer(step["arguments"]).exit_code:
                assert (case["name"], run.files()) == (case["name"], before)
                refused += 1
    assert refused > 80


# The command line


STATIC = next(case for case in CASES if case["name"] == "format")["config"]
DYNAMIC = next(case for case in CASES if case["name"] == "standalone")["config"]
CLUSTER = "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / CONFIG
    text = "".join(f"{key}={value}\n" for key, value in DYNAMIC.items()).replace("<DIR>", str(tmp_path))
    path.write_text(text)
    return path


USAGE_CASES = [
    (row["arguments"], release)
    for row in USAGE
    for release in row["releases"]
    if row["arguments"][0] != "random-uuid" and row["arguments"][-1] not in ("-t", "-c", "-I", "--add-scram")
]


def test_wrong_usage_ends_as_that_of_the_releases_own_tool(falkirk, config):
    for arguments, release in USAGE_CASES:
        words = [word.replace("<CONFIG>", str(config)) for word in arguments]
        answer = falkirk("storage", words[0], "--release", release, *words[1:])
        assert (arguments, release, answer.exit_code, answer.stdout) == (arguments, release, 1, "")
        assert len(answer.stderr.splitlines()) == 1
    assert list(config.parent.iterdir()) == [config]


@pytest.mark.parametrize("words", [("format",), ("info",), ("format", "--bogus"), ("info", "surplus")])
def test_wrong_usage_has_its_own_exit_status_where_no_release_was_named(falkirk, words):
    answer = falkirk("storage", *words)
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert len(answer.stderr.splitlines()) == 1


def test_a_node_is_formatted_once(falkirk, config, tmp_path):
    words = ("storage", "format", "--cluster-id", CLUSTER, "--config", str(config), "--standalone", "--release", "4.3")
    first = falkirk(*words)
    assert (first.exit_code, first.stderr) == (0, "")
    assert first.stdout.splitlines()[1:] == [
        f"Formatting dynamic metadata voter directory {tmp_path}/d0 with metadata.version 4.3-IV0."
    ]
    second = falkirk(*words)
    assert (second.exit_code, second.stdout) == (1, "")
    assert second.stderr == (
        f"Log directory {tmp_path}/d0 is already formatted. Use --ignore-formatted to ignore this directory and "
        "format the others.\n"
    )
    third = falkirk(*words, "--ignore-formatted")
    assert (third.exit_code, third.stdout) == (0, "All of the log directories are already formatted.\n")


def test_the_newest_release_is_the_default_and_the_answer_is_a_document_if_asked(falkirk, config, tmp_path):
    answer = falkirk("storage", "format", "-t", CLUSTER, "-c", str(config), "-s", "--json")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout) == {
        "metadata_version": {"level": 33, "name": "4.4-IV2"},
        "features": {
            "eligible.leader.replicas.version": 1,
            "group.version": 1,
            "kraft.version": 1,
            "share.version": 2,
            "streams.version": 1,
            "transaction.version": 2,
        },
        "directories": [{"path": f"{tmp_path}/d0", "type": "dynamic metadata voter directory"}],
        "unreadable": [],
    }
    info = falkirk("storage", "info", "-c", str(config), "--json")
    assert info.exit_code == 0
    document = json.loads(info.stdout)
    assert document["directories"] == [f"{tmp_path}/d0"]
    assert document["metadata"]["cluster.id"] == CLUSTER
    assert document["problems"] == []


def test_the_older_name_of_release_version_is_taken(falkirk, config):
    answer = falkirk("storage", "format", "-t", CLUSTER, "-c", str(config), "-s", "--metadata-version", "3.9-IV0")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert "with metadata.version 3.9-IV0." in answer.stdout


def test_info_fails_if_anything_is_wrong(falkirk, config, tmp_path):
    answer = falkirk("storage", "info", "--config", str(config))
    assert (answer.exit_code, answer.stderr) == (1, "")
    assert answer.stdout == f"Found problem:\n  {tmp_path}/d0 does not exist\n\n"


@pytest.mark.parametrize("command", ["info", "format"])
def test_a_configuration_that_cannot_be_read_is_named(falkirk, tmp_path, command):
    words = ["storage", command, *(("-t", CLUSTER) if command == "format" else ()), "-c"]
    missing = falkirk(*words, str(tmp_path / "missing"))
    assert (missing.exit_code, missing.stderr) == (1, f"{tmp_path}/missing: No such file or directory\n")
    directory = falkirk(*words, str(tmp_path))
    assert (directory.exit_code, directory.stderr) == (1, f"{tmp_path}: Is a directory\n")
    assert list(tmp_path.iterdir()) == []


def test_secrets_are_not_printed(falkirk, config):
    scram = "SCRAM-SHA-256=[name=alice,password=alice-secret,salt=N3E=,iterations=4096]"
    answer = falkirk("storage", "format", "-t", CLUSTER, "-c", str(config), "-s", "--add-scram", scram)
    assert answer.exit_code == 0
    assert "name='alice', mechanism=1, salt=[hidden], storedKey=[hidden], serverKey=[hidden]" in answer.stdout
    assert "alice-secret" not in answer.stdout


def test_a_directory_that_cannot_be_written_is_told_and_stays_unformatted(falkirk, config, tmp_path, monkeypatch):
    def fail(self, path, chunks):
        if path.endswith("meta.properties"):
            raise OSError(28, "No space left on device", path)
        write(self, path, chunks)

    write = PosixDisk.write
    monkeypatch.setattr(PosixDisk, "write", fail)
    answer = falkirk("storage", "format", "-t", CLUSTER, "-c", str(config), "-s")
    assert (answer.exit_code, answer.stderr) == (1, f"{tmp_path}/d0/meta.properties: No space left on device\n")
    monkeypatch.undo()
    assert falkirk("storage", "format", "-t", CLUSTER, "-c", str(config), "-s").exit_code == 0
