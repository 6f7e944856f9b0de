import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from golden_lines import GOLDEN, RELEASES, golden_lines

from falkirk.cli.application import main

FALKIRK = Path(sys.executable).with_name("falkirk")
# One golden line in so many; the codec itself is tested with all of them.
SOME = 16


@pytest.fixture
def wire(capfdbinary, monkeypatch):
    """Run `falkirk wire` in this process; return (exit status, output lines, stderr)."""

    def run(verb, text, *options):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        with pytest.raises(SystemExit) as ended:
            main(["wire", verb, *options])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        lines = [] if "--json" in options else [json.loads(line) for line in out.splitlines()]
        return ended.value.code or 0, lines or out.decode(), err.decode()

    return run


def only(line, *keys):
    return {key: line[key] for key in keys if key in line}


def as_input(lines):
    return "\n".join(json.dumps(line) for line in lines).encode()


@pytest.mark.slow
@pytest.mark.parametrize("step", [SOME, pytest.param(1, marks=pytest.mark.full)], ids=["some", "all"])
@pytest.mark.parametrize("release", RELEASES)
def test_golden_lines_go_both_ways(wire, release, step):
    golden = [line for line in golden_lines(release) if line["mode"] in ("full", "tags", "nulls") and line.get("json")]
    golden = golden[::step]
    bare = [only(line, "name", "kind", "version", "hex") for line in golden]
    status, decoded, _ = wire("decode", as_input(bare), "--release", release, "--jsonl")
    assert status == 0
    for line, got in zip(golden, decoded, strict=True):
        assert only(got, "json", "records", "unknownTags") == only(line, "json", "records", "unknownTags")

    keys = ("name", "kind", "version", "json", "records", "unknownTags", "header", "headerVersion")
    status, encoded, _ = wire("encode", as_input(only(line, *keys) for line in golden), "--release", release)
    assert status == 0
    for line, got in zip(golden, encoded, strict=True):
        assert only(got, "hex", "frameHex", "headerHex") == only(line, "hex", "frameHex", "headerHex")


@pytest.mark.slow
def test_the_head_line_of_a_golden_file_says_the_release():
    with gzip.open(GOLDEN / "golden-3.7.2.jsonl.gz") as file:
        text = b"".join(line for line in file if b'"name"' not in line or b"CurrentMemberAssignmentValue" in line)
    done = subprocess.run([FALKIRK, "wire", "decode"], input=text, capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0] == {"release": "3.7.2", "seed": 1, "format": 1}
    assert "targetMemberEpoch" in lines[1]["json"]  # a field of 3.7 alone


def test_field_names_are_those_of_the_release(wire):
    vote = {
        "name": "VoteRequest",
        "version": 0,
        "hex": "0002026102" + "00" * 27,
    }
    names = {}
    for release in ("3.7", "4.4"):
        status, [line], _ = wire("decode", as_input([vote]), "--release", release)
        assert status == 0
        names[release] = set(line["json"]["topics"][0]["partitions"][0])
    assert names["3.7"] - names["4.4"] == {"candidateEpoch", "candidateId"}
    assert names["4.4"] - names["3.7"] == {"replicaEpoch", "replicaId"}


def test_json_gives_one_document(wire):
    lines = [{"name": "NoOpRecord", "version": 0, "hex": "00"}] * 2
    status, text, _ = wire("decode", as_input(lines), "--json")
    assert status == 0
    assert json.loads(text) == [{**line, "json": {}} for line in lines]


@pytest.mark.parametrize(
    ("verb", "line", "complaint"),
    [
        ("decode", {"name": "TopicRecord", "version": 0, "hex": "05"}, "4 bytes wanted, 0 left (byte 0 in /name)"),
        ("decode", {"name": "TopicRecord", "version": 9, "hex": ""}, "TopicRecord has no version 9; it has 0"),
        ("decode", {"name": "TopicRecord", "version": 0, "hex": "0g"}, "`hex` of TopicRecord is not hex digits"),
        ("decode", {"name": "TopicRecord", "hex": "00"}, "`version` of TopicRecord is None, not a number"),
        ("decode", {"name": "Nothing", "version": 0, "hex": ""}, "no message is called 'Nothing'"),
        ("encode", {"name": "TopicRecord", "version": 0, "json": {"name": "a"}}, "/topicId is missing, and mandatory"),
        (
            "encode",
            {"name": "TopicRecord", "version": 0, "json": {"name": "a", "topicId": 5}},
            "/topicId is 5, not a uuid",
        ),
        ("encode", {"name": "NoOpRecord", "version": 0, "json": {"more": 5}}, "/more: this version has no such field"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(wire, verb, line, complaint):
    good = {"name": "NoOpRecord", "version": 0, "hex": "00", "json": {}}
    status, lines, stderr = wire(verb, as_input([good, line]))
    assert (status, len(lines)) == (1, 1)
    assert f"line 2: {complaint}" in stderr


def test_a_line_that_is_not_json_is_named(wire):
    status, _, stderr = wire("decode", b"nonsense\n")
    assert status == 1
    assert stderr.startswith("line 1: JSON is malformed")
