"""A watch file is checked whole: every error names the file and the field."""

import pytest

from falkirk.protocol.endpoint import Endpoint
from falkirk.watch.core.findings import EventKind
from falkirk.watch.errors import WatchError
from falkirk.watch.watch_file import listening_endpoint, read_watch_file

CLUSTER = "clusters: [{name: prod, bootstrap_servers: ['h:9092']}]\n"


def write(tmp_path, text):
    path = tmp_path / "watch.yaml"
    path.write_text(text)
    return path


def test_a_file_with_everything_is_read(tmp_path):
    (tmp_path / "s").write_text("secret\n")
    (tmp_path / "c.properties").write_text("client.id=watcher\n")
    text = """
clusters:
  - name: prod
    bootstrap_servers: ["a:9092", "b:9092"]
    bootstrap_controllers: ["c:9093"]
    command_config: c.properties
journal: watch.sqlite
metrics: 127.0.0.1:0
alarms:
  log: false
  webhooks: [{url: "https://h/x", secret_file: s, kinds: [way_closed]}]
  exec: [{command: "true"}]
pace: {fresh_s: 30}
"""
    file = read_watch_file(write(tmp_path, text))
    source = file.clusters[0].source(tmp_path)
    assert [str(each) for each in source.brokers] == ["a:9092", "b:9092"]
    assert source.config.client_id == "watcher"
    hook, command = file.channels(tmp_path)
    assert hook.kinds == {EventKind.WAY_CLOSED}
    assert EventKind.WAY_BLOCKED not in command.kinds
    assert file.make_pace().fresh_s == 30


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("clusters: []", r"watch.yaml: Expected `array` of length >= 1 - at `\$.clusters`"),
        (CLUSTER + "journl: x", "Object contains unknown field `journl`"),
        (
            "clusters: [{name: a, bootstrap_servers: ['h:1']}, {name: a, bootstrap_servers: ['h:1']}]",
            "name a is there twice",
        ),
        ("{", "watch.yaml: "),
        (CLUSTER + "page: 2026-13-45", "watch.yaml: month must be in 1..12"),
        (CLUSTER + "pace: {fresh_s: 0}", r"\$.pace.fresh_s"),
        (CLUSTER + "alarms: {webhooks: [{url: 'http://h', kinds: [nothing]}]}", r"\$.alarms.webhooks"),
    ],
)
def test_what_is_wrong_is_named_with_the_file(tmp_path, text, reason):
    with pytest.raises(WatchError, match=reason):
        read_watch_file(write(tmp_path, text))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ("alarms: {webhooks: [{url: 'file:///etc/passwd'}]}", "begins with neither http:// nor https://"),
        ("alarms: {webhooks: [{url: 'http://h', secret_file: gone}]}", "secret_file: .*gone: No such file"),
        ("alarms: {exec: [{command: x}, {command: x}]}", "exec x is there twice"),
    ],
)
def test_alarms_that_cannot_be_delivered_are_refused_at_the_start(tmp_path, more, reason):
    with pytest.raises(WatchError, match=reason):
        read_watch_file(write(tmp_path, CLUSTER + more)).channels(tmp_path)


def test_a_cluster_with_a_wrong_address_or_config_is_named(tmp_path):
    file = read_watch_file(write(tmp_path, "clusters: [{name: prod, bootstrap_servers: [nonsense]}]"))
    with pytest.raises(WatchError, match="cluster prod: 'nonsense' is no server"):
        file.clusters[0].source(tmp_path)
    file = read_watch_file(write(tmp_path, CLUSTER.replace("}]", ", command_config: gone}]")))
    with pytest.raises(WatchError, match=r"cluster prod: .*gone"):
        file.clusters[0].source(tmp_path)


@pytest.mark.parametrize(
    ("text", "host", "port"), [("9406", "127.0.0.1", 9406), ("[::1]:0", "::1", 0), ("10.0.0.1:80", "10.0.0.1", 80)]
)
def test_without_a_host_it_listens_on_this_machine_alone(text, host, port):
    assert listening_endpoint("page", text) == Endpoint(host, port)


@pytest.mark.parametrize("text", ["", ":80", "host", "host:", "h:65536", "h:-1", "h:" + "9" * 5000])
def test_what_is_no_host_and_port_is_named_with_its_field(text):
    with pytest.raises(WatchError, match=r"page: .* is no host:port"):
        listening_endpoint("page", text)
