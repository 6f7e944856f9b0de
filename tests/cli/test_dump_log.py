import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from dump_files import answers, dump_file, extract_files

FALKIRK = Path(sys.executable).with_name("falkirk")
METADATA = "4.3.1/meta/00000000000000000000.log"
GROUPS = "4.3.1/__consumer_offsets-0/00000000000000000000.log"
TRANSACTIONAL = "4.3.1/txn-0/00000000000000000000.log"
FINDINGS = ("Mismatches in", "Found ", "The following", "Non-consecutive", "Ignoring")


def findings(lines):
    """Group what the tool says at its end by file; a Java hash map orders the files."""
    blocks = []
    for line in lines:
        if line.startswith(FINDINGS):
            blocks.append([line])
        elif line.startswith(("  ", "Indexed offset")):
            blocks[-1].append(line)
    return sorted(blocks)


def without_reasons(text):
    """Lines of a dump, without the reason of a record that cannot be decoded: the tools give that of an exception."""
    return [re.sub(r"(Error at (?:offset )?\d+, skipping\.) .*", r"\1", line) for line in text.rstrip("\n").split("\n")]


@pytest.fixture(scope="session")
def extracted(tmp_path_factory):
    directory = tmp_path_factory.mktemp("dump")
    extract_files(directory)
    return directory


@pytest.fixture
def dump(falkirk, extracted, monkeypatch):
    monkeypatch.chdir(extracted)

    def run(*words):
        return falkirk("dump-log", *words)

    return run


@pytest.mark.parametrize("answer", answers(), ids=str)
def test_the_text_is_that_of_the_releases_own_tool(dump, extracted, answer):
    ours = dump("--release", answer.tool, *answer.arguments)
    # Where the tool ended inside a line, ours is whole.
    assert without_reasons(ours.stdout) == without_reasons(answer.stdout)
    if answer.status == 0:
        assert findings(ours.stderr.replace(f"{extracted}/", "").splitlines()) == findings(answer.stderr)
    else:
        # One sentence for a stack trace, at the end, naming the file: that given, or the log beside an index.
        assert ours.exit_code == 1
        segments = [path.rpartition(".")[0] for path in answer.arguments[-1].split(",")]
        assert ours.stderr.splitlines()[-1].startswith(tuple(segments))


@pytest.mark.slow
def test_sound_files_are_dumped_without_a_word_on_stderr(dump):
    for answer in answers():
        is_odd = "odd/" in answer.arguments[-1] or "remote/" in answer.arguments[-1]
        if answer.status == 0 and not is_odd and not answer.stderr:
            ours = dump("--release", answer.tool, *answer.arguments)
            assert (ours.exit_code, ours.stderr) == (0, "")


def test_the_newest_published_tool_is_the_default(dump):
    arguments = ("--offsets-decoder", "--files", GROUPS)
    assert dump(*arguments) == dump("--release", "4.3.1", *arguments) == dump("--release", "4.3", *arguments)
    assert dump(*arguments) != dump("--release", "3.7", *arguments)


def test_a_flipped_bit_is_told_with_file_byte_and_batch_and_the_dump_goes_on(dump, extracted, tmp_path):
    data = bytearray(dump_file(TRANSACTIONAL))
    second = int.from_bytes(data[8:12], "big") + 12
    data[second + 70] ^= 1
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data)
    ours = dump("--files", str(path))
    offset = int.from_bytes(data[second : second + 8], "big")
    first_line = f"{path}: CRC of the batch of offset {offset} does not fit (byte {second})"
    assert (ours.exit_code, ours.stderr.splitlines()) == (1, [first_line])
    assert ours.stdout.count("isvalid: true") == ours.stdout.count("baseOffset:") - 1


def test_a_torn_tail_is_told_as_the_tool_tells_it_and_with_its_byte(dump, tmp_path):
    data = dump_file(METADATA)
    last = max(at for at in range(len(data) - 61) if data[at + 16] == 2 and at + 12 + _length(data, at) == len(data))
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data[:-7])
    ours = dump("--files", str(path))
    left = len(data) - 7 - last
    assert ours.stdout.endswith(f"\nFound {left} invalid bytes at the end of {path.name}\n")
    offset = int.from_bytes(data[last : last + 8], "big")
    torn = f"torn at byte {last} of {len(data) - 7}: batch of offset {offset} takes {left + 7} bytes, {left} are left"
    assert (ours.exit_code, ours.stderr) == (0, f"{path}: {torn}\n")


def _length(data, at):
    return int.from_bytes(data[at + 8 : at + 12], "big")


def test_zeros_behind_the_last_batch_end_the_dump_with_their_place(dump, tmp_path):
    data = dump_file(METADATA)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(data + bytes(4096))
    ours = dump("--files", str(path))
    assert (ours.exit_code, ours.stdout.count("baseOffset:")) == (1, dump("--files", METADATA).stdout.count("baseO"))
    assert f"torn at byte {len(data)} of {len(data) + 4096}" in ours.stderr


def test_a_record_that_does_not_parse_ends_the_dump_behind_what_stands_before_it(dump, tmp_path):
    log = tmp_path / "00000000000000000000.log"
    data = bytearray(dump_file(METADATA))
    data[61:63] = b"\xfe\x7f"  # a size that the first record cannot have
    log.write_bytes(data)
    ours = dump("--deep-iteration", "--files", f"{log},{METADATA}")
    assert ours.exit_code == 1
    assert ours.stdout.count("baseOffset:") == 1
    last = ours.stderr.splitlines()[-1]
    assert last.startswith(f"{log}: record declares 8191 bytes where ")
    assert last.endswith(" are left, batch of offset 0 (byte 61)")


def test_json_is_one_document_with_every_file(dump):
    ours = dump("--json", "--cluster-metadata-decoder", "--files", f"{METADATA},4.3.1/bootstrap.checkpoint,a.b")
    assert (ours.exit_code, ours.stderr) == (0, "")
    document = json.loads(ours.stdout)
    assert document["release"] == "4.4.0"
    assert [(file["file"], file["kind"]) for file in document["files"]] == [
        (METADATA, "log"),
        ("4.3.1/bootstrap.checkpoint", "snapshot"),
        ("a.b", "unknown"),
    ]
    [batch, *_] = document["files"][0]["batches"]
    assert batch["records"][0]["control"]["type"] == "LEADER_CHANGE"


def test_json_of_a_damaged_or_missing_file_is_whole_and_the_exit_status_tells(dump, tmp_path):
    log = tmp_path / "00000000000000000000.log"
    data = bytearray(dump_file(METADATA))
    data[70] ^= 1
    log.write_bytes(data)
    ours = dump("--json", "--files", f"{log},no/00000000000000000000.log,{METADATA}")
    damaged, missing, sound = json.loads(ours.stdout)["files"]
    assert ours.exit_code == 1
    assert damaged["problems"] == [
        {"file": str(log), "position": 0, "baseOffset": 0, "message": "CRC of the batch of offset 0 does not fit"}
    ]
    assert missing["problems"][0]["message"] == "No such file or directory"
    assert (sound["problems"], len(sound["batches"])) == ([], len(damaged["batches"]))


def test_batch_lines_can_be_left_out(dump):
    whole = dump("--print-data-log", "--files", TRANSACTIONAL).stdout.splitlines()
    records = dump("--print-data-log", "--skip-batch-metadata", "--files", TRANSACTIONAL).stdout.splitlines()
    assert records == [line for line in whole if not line.startswith("baseOffset:")]
    assert len(records) < len(whole)


@pytest.mark.parametrize("name", ["org.apache.kafka.tools.api.StringDecoder", "kafka.serializer.StringDecoder"])
@pytest.mark.parametrize("option", ["--key-decoder-class", "--value-decoder-class"])
def test_a_string_decoder_prints_what_print_data_log_prints(dump, option, name):
    wanted = dump("--print-data-log", "--files", TRANSACTIONAL)
    assert dump(option, name, "--files", TRANSACTIONAL) == wanted


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--files", METADATA, "--value-decoder-class", "my.Decoder"], "my.Decoder cannot be used here"),
        (["--files", METADATA, "--share-group-state-decoder", "--release", "3.9"], "3.9.1 has no --share-group-state"),
        (["--files", METADATA, "--remote-log-metadata-decoder", "--release", "3.7"], "has no --remote-log-metadata"),
        (["--print-data-log"], "--files"),
        (["--files", METADATA, "--max-bytes", "many"], "--max-bytes"),
    ],
)
def test_a_wrong_command_line_is_refused(dump, words, message):
    ours = dump(*words)
    assert (ours.exit_code, ours.stdout) == (2, "")
    assert message in ours.stderr


@pytest.mark.parametrize("release", ["3.6", "9.9"])
def test_a_release_whose_tool_is_not_known_is_refused(dump, release):
    ours = dump("--files", METADATA, "--release", release)
    assert (ours.exit_code, ours.stdout) == (1, "")
    assert release in ours.stderr


def test_a_missing_file_is_named(dump):
    ours = dump("--files", "no/00000000000000000000.log")
    assert ours.exit_code == 1
    assert ours.stderr == "no/00000000000000000000.log: No such file or directory\n"


@pytest.mark.slow
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_who_goes_away_is_no_error_with_a_traceback(extracted, form):
    command = [FALKIRK, "dump-log", "--cluster-metadata-decoder", *form, "--files", ",".join([METADATA] * 30)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=extracted) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(100)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
