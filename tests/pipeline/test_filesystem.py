"""Files of this machine and of an object store: one behaviour suite on both."""

import os
import pickle

import pytest
from object_store import object_store

from falkirk.pipeline import filesystem
from falkirk.pipeline.errors import InventoryError
from falkirk.pipeline.filesystem import expand, open_location

FILES = {
    "node-1/d0/meta.properties": b"version=1\n",
    "node-1/d0/orders-0/00000000000000000000.log": bytes(range(256)) * 4,
    "node-1/d0/orders-0/empty.log": b"",
    "node-2/d0/meta.properties": b"version=1\n#\n",
}


@pytest.fixture(scope="module")
def store():
    with object_store() as found:
        before = dict(os.environ)
        os.environ.update(found.environment)
        filesystem._found_store.cache_clear()
        yield found
        filesystem._found_store.cache_clear()
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(params=["path", "file", "s3"])
def root(request, tmp_path, store):
    """The URI of a folder with FILES."""
    if request.param == "s3":
        for name, data in FILES.items():
            store.put(f"{tmp_path.name}/{name}", data)
        return f"s3://fleet/{tmp_path.name}"
    for name, data in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return str(tmp_path) if request.param == "path" else tmp_path.as_uri()


def test_directories_list_names_and_tell_what_they_are(root):
    place = open_location(root)
    assert place.disk.list(place.path) == ["node-1", "node-2"]
    d0 = place / "node-1" / "d0"
    assert d0.disk.list(d0.path) == ["meta.properties", "orders-0"]
    assert d0.disk.is_directory(d0.path)
    assert d0.disk.exists(d0.path)
    assert not d0.disk.is_directory((d0 / "meta.properties").path)
    assert d0.disk.exists((d0 / "meta.properties").path)
    assert not d0.disk.exists((d0 / "missing").path)
    assert not d0.disk.is_directory((d0 / "missing").path)


@pytest.mark.parametrize(
    ("position", "length", "expected"),
    [
        (0, None, slice(None)),
        (10, 5, slice(10, 15)),
        (1020, 100, slice(1020, None)),
        (1024, 10, slice(1024, None)),
        (5000, 10, slice(5000, None)),
        (5000, None, slice(5000, None)),
        (7, 0, slice(7, 7)),
    ],
)
def test_ranges_of_a_file_are_read_as_far_as_it_goes(root, position, length, expected):
    file = open_location(f"{root}/node-1/d0/orders-0/00000000000000000000.log")
    data = FILES["node-1/d0/orders-0/00000000000000000000.log"]
    assert file.disk.size(file.path) == len(data)
    assert file.disk.read(file.path, position, length) == data[expected]
    assert bytes(file.disk.view(file.path)) == data


def test_an_empty_file_is_one(root):
    file = open_location(f"{root}/node-1/d0/orders-0/empty.log")
    assert file.disk.size(file.path) == 0
    assert file.disk.read(file.path) == file.disk.read(file.path, 3, 4) == b""
    assert bytes(file.disk.view(file.path)) == b""


@pytest.mark.parametrize("action", ["list", "size", "read", "view"])
def test_what_is_missing_is_an_os_error(root, action):
    place = open_location(root) / "missing"
    with pytest.raises(FileNotFoundError):
        getattr(place.disk, action)(place.path)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("node-*/d0/meta.properties", ["node-1/d0/meta.properties", "node-2/d0/meta.properties"]),
        ("node-[2-9]/d0", ["node-2/d0"]),
        ("node-?/d?/orders-*", ["node-1/d0/orders-0"]),
        (
            "**/*.log",
            ["node-1/d0/orders-0/00000000000000000000.log", "node-1/d0/orders-0/empty.log"],
        ),
        ("node-9*", []),
        ("missing/*.log", []),
        ("node-1/d0", ["node-1/d0"]),
        ("missing", ["missing"]),
    ],
)
def test_patterns_stand_for_what_is_there(root, pattern, expected):
    base = open_location(root).uri
    found = [open_location(uri).uri for uri in expand(f"{root}/{pattern}")]
    assert found == [f"{base}/{name}" for name in expected]


def test_a_location_goes_to_a_worker_and_reads_there(root):
    place = pickle.loads(pickle.dumps(open_location(f"{root}/node-1/d0")))  # noqa: S301 - our own bytes
    assert place.disk.read((place / "meta.properties").path) == b"version=1\n"


def test_names_of_places_are_full_and_without_a_slash_at_their_end(root):
    assert open_location(f"{root}/node-1/").uri == open_location(f"{root}/node-1").uri
    assert (open_location(f"{root}/node-1/") / "d0").uri.endswith("/node-1/d0")


def test_a_file_uri_may_have_escapes(tmp_path):
    (tmp_path / "a b").write_bytes(b"x")
    uri = (tmp_path / "a b").as_uri()
    assert "%20" in uri
    assert open_location(uri).path == str(tmp_path / "a b")
    assert expand(uri.replace("a%20b", "a%20*")) == [str(tmp_path / "a b")]


def test_the_root_is_a_place():
    assert open_location("/").path == "/"
    assert (open_location("/") / "etc").path == "/etc"


def test_relative_paths_become_absolute_places(tmp_path, monkeypatch):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    assert expand("logs/*.log") == ["logs/a.log"]
    assert open_location("logs/a.log").uri == str(tmp_path / "logs" / "a.log")
    assert open_location("./logs//").path == str(tmp_path / "logs")


def test_a_path_that_has_the_characters_of_a_pattern_is_itself_if_it_is_there(tmp_path):
    strange = tmp_path / "d[0]"
    strange.mkdir()
    assert expand(str(strange)) == [str(strange)]


@pytest.mark.parametrize("uri", ["ftp://host/x", "nosuch://x", "s3:///x"])
def test_a_uri_of_no_known_kind_is_named(store, uri):
    with pytest.raises(InventoryError, match="^" + uri.replace("/", ".")):
        open_location(uri)


def test_a_store_whose_bucket_has_a_host_keeps_both_in_names():
    place = open_location("abfs://logs@account.dfs.core.windows.net/fleet/d0/")
    assert place.path == "logs/fleet/d0"
    assert place.uri == "abfs://logs@account.dfs.core.windows.net/fleet/d0"


def test_a_bucket_that_is_not_there_is_named(store):
    place = open_location("s3://no-such-bucket/x")
    assert not place.disk.exists(place.path)
    assert expand("s3://no-such-bucket/*.log") == []


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_the_endpoint_comes_from_either_variable(store, monkeypatch, variable):
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv(variable, store.environment["AWS_ENDPOINT_URL"])
    filesystem._found_store.cache_clear()
    place = open_location(store.put("one/file", b"here"))
    assert place.disk.read(place.path) == b"here"
