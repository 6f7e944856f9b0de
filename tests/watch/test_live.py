"""A watch beside a running cluster of ours."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
from running_cluster import up
from watch_events import ALL

from falkirk.protocol.messages import CreateAclsRequest, DeleteAclsRequest
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.protocol.messages.delete_acls_request import DeleteAclsFilter
from falkirk.watch.core.findings import WayState
from falkirk.watch.journal import Journal
from falkirk.watch.metrics_server import serving_metrics
from falkirk.watch.watch import Watch
from falkirk.watch.watch_file import Alarms, WatchedCluster, WatchFile, listening_endpoint

pytestmark = pytest.mark.slow
TIMEOUT_S = 60
SUPER_USER = "super.users=User:ANONYMOUS"
PROGRAM = Path(sys.executable).with_name("falkirk")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    data = tmp_path_factory.mktemp("watched") / "data"
    overrides = ("authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer", SUPER_USER)
    options = [option for override in overrides for option in ("--override", override)]
    with up("--nodes", "1", "--single-process", "--release", "4.4", "--data", data, *options) as cluster:
        yield cluster


def add_range(cluster, name):
    acl = AclCreation(
        resource_type=2,
        resource_name=name,
        resource_pattern_type=3,
        principal="User:a",
        host="10.0.0.0/8",
        operation=3,
        permission_type=3,
    )
    [result] = cluster.ask(CreateAclsRequest(creations=[acl])).results
    assert result.error_code == 0, result


def remove_range(cluster, name):
    wanted = DeleteAclsFilter(
        resource_type_filter=2,
        resource_name_filter=name,
        pattern_type_filter=3,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    [result] = cluster.ask(DeleteAclsRequest(filters=[wanted])).filter_results
    assert result.error_code == 0
    assert result.matching_acls


def watch_file(cluster, **more):
    watched = WatchedCluster(name="ours", bootstrap_servers=cluster.document["bootstrap_servers"].split(","))
    return WatchFile(clusters=[watched], alarms=Alarms(log=False), **more)


async def state(watch, wanted):
    """Wait until every way has a state."""
    async with asyncio.timeout(TIMEOUT_S):
        async for findings in watch.findings():
            if findings.is_fresh and {way.state for way in findings.ways} == {wanted}:
                return findings
    raise AssertionError


def test_ways_close_and_open_as_the_log_says_and_metrics_show_it(running, tmp_path):
    async def play():
        file = watch_file(running, journal=str(tmp_path / "j"))
        async with Watch(file, tmp_path) as watch:
            with serving_metrics(watch, listening_endpoint("metrics", "127.0.0.1:0")) as port:
                await state(watch, WayState.OPEN)
                await asyncio.to_thread(add_range, running, "closing")
                closed = await state(watch, WayState.CLOSED)
                page = await asyncio.to_thread(
                    lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30).read().decode()
                )
                await asyncio.to_thread(remove_range, running, "closing")
                await state(watch, WayState.OPEN)
        return closed, page

    closed, page = asyncio.run(play())
    for way in closed.ways:
        assert way.point_of_no_return.kind == "cidr_allow_acl"
        assert way.point_of_no_return.place.record == "AccessControlEntryRecord"
        assert f'falkirk_downgrade_possible{{cluster="ours",release="{way.release}"}} 0.0' in page
        assert f'falkirk_downgrade_losses{{cluster="ours",kind="cidr_allow_acl",release="{way.release}"}} 1.0' in page
    with Journal(tmp_path / "j") as journal:
        kinds = [(event.kind.value, event.release) for _, event in journal.events()]
        assert kinds == [
            *(("way_closed", way.release) for way in closed.ways),
            *(("way_opened", way.release) for way in closed.ways),
        ]
        assert journal.moments("ours")


def test_what_happened_while_nobody_watched_has_its_events(running, tmp_path):
    async def once(wanted):
        async with Watch(watch_file(running, journal=str(tmp_path / "j")), tmp_path) as watch:
            await state(watch, wanted)

    asyncio.run(once(WayState.OPEN))
    add_range(running, "unseen")
    remove_range(running, "unseen")
    add_range(running, "unseen")
    asyncio.run(once(WayState.CLOSED))
    remove_range(running, "unseen")
    with Journal(tmp_path / "j") as journal:
        kinds = [event.kind.value for _, event in journal.events() if event.release == "3.9"]
    assert kinds[0] == "way_closed"
    assert kinds[-1] == "way_closed"
    assert len(kinds) in (1, 3), "the middle one is seen if groups were read before the metadata"


def start_watch(running, journal, out):
    hook = f'cat > /dev/null; echo "$FALKIRK_EVENT_KEY" >> {out}'
    command = [str(PROGRAM), "watch", "--bootstrap-server", running.document["bootstrap_servers"]]
    command += ["--journal", str(journal), "--json", "--exec", hook]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def test_a_watch_that_is_killed_again_and_again_loses_no_alarm_and_stores_none_twice(running, tmp_path):
    journal, out = tmp_path / "j", tmp_path / "out"
    out.touch()
    for turn in range(6):
        with start_watch(running, journal, out) as process:
            for line in process.stdout:
                if json.loads(line).get("findings", {}).get("is_fresh"):
                    break
            (add_range if turn % 2 == 0 else remove_range)(running, "killed")
            time.sleep(0.15 * turn)
            os.kill(process.pid, signal.SIGKILL)
    with start_watch(running, journal, out) as process:
        # From its first line on it ends by a signal as it should.
        assert process.stdout.readline()
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            time.sleep(0.5)
            if len(set(out.read_text().split())) >= 6 * 7:
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0
    with Journal(journal) as opened:
        events = [event for _, event in opened.events() if event.kind in ALL]
        assert opened.waiting_count() == 0
    of_release = [event.kind.value for event in events if event.release == "3.9"]
    assert of_release == ["way_closed", "way_opened"] * 3
    keys = [event.key for event in events]
    assert len(set(keys)) == len(keys)
    assert set(out.read_text().split()) == set(keys), "each alarm has arrived, repeated ones with the same key"


def test_a_cluster_that_is_not_there_is_not_known_and_once_it_fails(tmp_path):
    command = [str(PROGRAM), "watch", "--bootstrap-server", "127.0.0.1:1", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        found = json.loads(process.stdout.readline())["findings"]
        while not found["sources"][0]["reason"]:
            found = json.loads(process.stdout.readline())["findings"]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert {way["state"] for way in found["ways"]} == {"unknown"}


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ([], 2, "name a cluster with --bootstrap-server"),
        (["--bootstrap-server", "h:1", "--exec", "x"], 2, "alarms need a journal"),
        (["--config", "/nowhere/watch.yaml"], 1, "/nowhere/watch.yaml: No such file"),
        (["--bootstrap-server", "nonsense"], 1, "cluster cluster: 'nonsense' is no server"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, code, reason):
    ended = subprocess.run([str(PROGRAM), "watch", *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert reason in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
