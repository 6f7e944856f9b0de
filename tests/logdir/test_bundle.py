"""The undo bundle: what goes in comes out, and what is damaged is told."""

import json
import zipfile
from random import Random

import pytest

from falkirk.logdir.bundle import BundleError, read_bundle
from falkirk.logdir.changes import write_file
from falkirk.metadata.undo.undo_bundle import Bundle, KeptTag, ObjectChange, RemovedBatch
from falkirk.protocol.batch_builder import build_batch
from falkirk.protocol.messages import FeatureLevelRecord, RegisterBrokerRecord, TopicRecord, VotersRecord
from falkirk.protocol.messages.voters_record import Voter
from falkirk.protocol.record import Record

BATCH = build_batch([Record(offset, 1, b"k", b"v") for offset in (5, 6, 7)], base_offset=5)
BUNDLE = Bundle(
    cluster_id="hfgjSfLshYrZXYqfd36Qxg",
    level_before=33,
    level_after=15,
    release_after="3.7.2",
    features_before={"metadata.version": 33, "group.version": 1},
    kraft_version_before=1,
    kraft_version_after=0,
    voters=VotersRecord(voters=[Voter(voter_id=3, voter_directory_id=bytes([3]) * 16)]),
    objects=(
        ObjectChange(
            kind="broker_log_dirs",
            key="broker 1",
            before=(RegisterBrokerRecord(broker_id=1, log_dirs=(bytes([1]) * 16, bytes([2]) * 16)), 4),
            written=(RegisterBrokerRecord(broker_id=1), 2),
        ),
        ObjectChange(kind="feature", key="feature x", before=(FeatureLevelRecord("group.version", 1), 0), written=None),
        ObjectChange(
            kind="unknown_tagged_field",
            key="topic t",
            before=None,
            written=(TopicRecord("t", bytes([7]) * 16), 0),
            unknown_tags=(KeptTag("TopicRecord", "", 9, b"\0later"), KeptTag("TopicRecord", "a[b]", 10, b"")),
        ),
    ),
    groups={"__consumer_offsets-3": (RemovedBatch(data=BATCH, offsets=frozenset({5, 7})),)},
)


@pytest.fixture
def file(tmp_path):
    write_file(tmp_path / "undo-bundle.zip", BUNDLE)
    return tmp_path / "undo-bundle.zip"


def test_a_bundle_reads_as_it_was_written(file):
    assert read_bundle(file) == BUNDLE


def test_a_bundle_that_is_too_large_is_refused_before_it_is_read(file, monkeypatch):
    size = sum(entry.file_size for entry in zipfile.ZipFile(file).infolist())
    monkeypatch.setattr("falkirk.metadata.undo.undo_bundle.BUNDLE_BYTES_MAX", size)
    assert read_bundle(file) == BUNDLE
    monkeypatch.setattr("falkirk.metadata.undo.undo_bundle.BUNDLE_BYTES_MAX", size - 1)
    with pytest.raises(BundleError, match=f"{size} bytes uncompressed"):
        read_bundle(file)
    monkeypatch.setattr("falkirk.logdir.bundle.BUNDLE_BYTES_MAX", file.stat().st_size - 1)
    monkeypatch.setattr("pathlib.Path.read_bytes", None)
    with pytest.raises(BundleError, match=f"{file}: {file.stat().st_size} bytes, a bundle has at most"):
        read_bundle(file)


def test_a_bundle_without_anything_reads_as_such(tmp_path):
    empty = Bundle(**{name: getattr(BUNDLE, name) for name in Bundle.__slots__} | {"objects": (), "groups": {}})
    write_file(tmp_path / "empty.zip", empty)
    assert read_bundle(tmp_path / "empty.zip") == empty


def test_a_bundle_never_replaces_another(file):
    before = file.read_bytes()
    with pytest.raises(FileExistsError):
        write_file(file, BUNDLE)
    assert file.read_bytes() == before


def test_the_bundle_says_its_version_and_a_newer_one_is_refused(file, tmp_path):
    newer = tmp_path / "newer.zip"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(newer, "x") as new:
        head = json.loads(old.read("bundle.json"))
        assert head["format"] == 1
        for name in old.namelist():
            new.writestr(name, json.dumps(head | {"format": 2}) if name == "bundle.json" else old.read(name))
    with pytest.raises(BundleError, match=r"newer\.zip: bundle format 2, this falkirk reads 1"):
        read_bundle(newer)


@pytest.mark.parametrize("contents", [b"", b"PK", b"not a zip at all", bytes(1000)])
def test_a_file_that_is_no_bundle_is_refused(tmp_path, contents):
    (tmp_path / "x").write_bytes(contents)
    with pytest.raises(BundleError, match="x: not an undo bundle, or a damaged one"):
        read_bundle(tmp_path / "x")


@pytest.mark.parametrize("left_out", ["bundle.json", "objects.jsonl", "groups/__consumer_offsets-3.batches"])
def test_a_bundle_without_one_of_its_files_is_refused(file, tmp_path, left_out):
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(tmp_path / "part.zip", "x") as new:
        for name in old.namelist():
            if name != left_out:
                new.writestr(name, old.read(name))
    with pytest.raises(BundleError, match=r"part\.zip: not an undo bundle, or a damaged one"):
        read_bundle(tmp_path / "part.zip")


def test_a_bundle_with_fewer_objects_than_were_written_is_refused(file, tmp_path):
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(tmp_path / "short.zip", "x") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data.split(b"\n")[0] + b"\n" if name == "objects.jsonl" else data)
    with pytest.raises(BundleError, match=r"short\.zip: 1 objects where 3 were written"):
        read_bundle(tmp_path / "short.zip")


def test_a_flipped_bit_anywhere_is_told_or_without_effect(file, tmp_path):
    data, random, refused = file.read_bytes(), Random(3), 0
    for at in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[at] ^= 1 << random.randrange(8)
        (tmp_path / "damaged.zip").write_bytes(damaged)
        try:
            assert read_bundle(tmp_path / "damaged.zip") == BUNDLE
        except BundleError:
            refused += 1
    assert refused > len(data) / 3 / 2


def test_a_bundle_that_is_cut_anywhere_is_refused(file, tmp_path):
    data = file.read_bytes()
    for end in range(0, len(data), 5):
        (tmp_path / "cut.zip").write_bytes(data[:end])
        with pytest.raises(BundleError, match=r"cut\.zip: not an undo bundle"):
            read_bundle(tmp_path / "cut.zip")
