"""A watch beside a running cluster of ours."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from running_cluster import up
from watch_events import ALL

from falkirk.metadata.acls.acl_types import AclOperation, ResourceType
from falkirk.protocol.messages import CreateAclsRequest, DeleteAclsRequest, FindCoordinatorRequest
from falkirk.protocol.messages.create_acls_request import AclCreation
from falkirk.protocol.messages.delete_acls_request import DeleteAclsFilter
from falkirk.watch.core.findings import EventKind, WayState
from falkirk.watch.journal import Journal
from falkirk.watch.metrics_server import serving_metrics
from falkirk.watch.watch import Watch
from falkirk.watch.watch_file import Alarms, PaceLimits, WatchedCluster, WatchFile, listening_endpoint

pytestmark = pytest.mark.slow
TIMEOUT_S = 60
TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE
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


def watch_file(cluster, controllers=(), **more):
    watched = WatchedCluster(
        name="ours",
        bootstrap_servers=cluster.document["bootstrap_servers"].split(","),
        bootstrap_controllers=list(controllers),
    )
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
    assert kinds == ["way_closed", "way_opened", "way_closed"]


def allow(cluster, resource_type, name, operation, principal="User:another"):
    """Allow it; who may do everything where there is no ACL then may do there only what is allowed to him."""
    acl = AclCreation(
        resource_type=resource_type,
        resource_name=name,
        resource_pattern_type=3,
        principal=principal,
        host="*",
        operation=operation,
        permission_type=3,
    )
    [result] = cluster.ask(CreateAclsRequest(creations=[acl])).results
    assert result.error_code == 0, result


async def refused(watch, name):
    """Wait until a source is not known for lack of a right; return the right and the states of the ways."""
    async with asyncio.timeout(TIMEOUT_S):
        async for findings in watch.findings():
            [source] = [each for each in findings.sources if each.name == name]
            if source.needs is not None and not source.is_fresh:
                return source.needs, {way.state for way in findings.ways}
    raise AssertionError


def test_what_may_not_be_read_is_not_known_and_named_by_the_acl_that_it_needs(tmp_path):
    overrides = (
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found=true",
        "offsets.topic.num.partitions=1",
    )
    options = [option for override in overrides for option in ("--override", override)]

    async def play(cluster):
        # Named, for its brokers may not forward to controllers any more than we may fetch from them.
        controllers = cluster.document["controllers"].split(",")
        async with Watch(
            watch_file(cluster, controllers, pace=PaceLimits(fresh_s=2, nodes_interval_s=0.5)), tmp_path
        ) as watch:
            await state(watch, WayState.OPEN)
            await asyncio.to_thread(allow, cluster, TOPIC, "__consumer_offsets", READ)
            groups = await refused(watch, "groups")
            await asyncio.to_thread(allow, cluster, CLUSTER, "kafka-cluster", DESCRIBE, "User:ANONYMOUS")
            return groups, await refused(watch, "metadata")

    with up("--nodes", "1", "--single-process", "--release", "4.4", "--data", tmp_path / "data", *options) as cluster:
        # Its coordinator is asked for, so that the topic is made.
        cluster.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g"]))
        (groups, unknown), (metadata, all_unknown) = asyncio.run(play(cluster))
    assert groups == "READ on TOPIC __consumer_offsets for User:ANONYMOUS, at the brokers"
    assert unknown == {WayState.UNKNOWN}
    assert metadata == "CLUSTER_ACTION on CLUSTER kafka-cluster for User:ANONYMOUS, at the controllers"
    assert all_unknown == {WayState.UNKNOWN}


def start_watch(running, journal, out):
    hook = f'cat > /dev/null; echo "$FALKIRK_EVENT_KEY" >> {out}'
    command = [str(PROGRAM), "watch", "--bootstrap-server", running.document["bootstrap_servers"]]
    command += ["--journal", str(journal), "--json", "--exec", hook]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.parametrize("turns", [6, pytest.param(60, marks=pytest.mark.full)])
def test_a_watch_that_is_killed_again_and_again_loses_no_alarm_and_stores_none_twice(running, tmp_path, turns):
    journal, out = tmp_path / "j", tmp_path / "out"
    out.touch()
    random = Random(turns)
    await_fresh(start_watch(running, journal, out))
    for turn in range(turns):
        process = start_watch(running, journal, out)
        # Killed while it starts, while it reads what it missed, or while it has alarms to deliver.
        if turn % 2:
            time.sleep(random.uniform(0, 4))
        else:
            await_fresh(process, ends=False)
        (add_range if turn % 2 == 0 else remove_range)(running, f"killed-{turns}")
        time.sleep(random.uniform(0, 1))
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    with start_watch(running, journal, out) as process:
        # From its first line on it ends by a signal as it should.
        assert process.stdout.readline()
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            time.sleep(0.5)
            if len(set(out.read_text().split())) >= turns * 7:
                break
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0
    with Journal(journal) as opened:
        events = [event for _, event in opened.events(limit=10_000) if event.kind in ALL]
        assert opened.waiting_count() == 0
    of_release = [event.kind.value for event in events if event.release == "3.9"]
    assert of_release == ["way_closed", "way_opened"] * (turns // 2)
    keys = [event.key for event in events]
    assert len(set(keys)) == len(keys)
    assert set(out.read_text().split()) == set(keys), "each alarm has arrived, repeated ones with the same key"


def await_fresh(process, *, ends=True):
    """Read what a watch prints until everything is known; with `ends` it is then ended."""
    for line in process.stdout:
        if json.loads(line).get("findings", {}).get("is_fresh"):
            break
    if ends:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)


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


def move(cluster, *words):
    servers = cluster.document["bootstrap_servers"]
    command = [str(PROGRAM), "features", "--bootstrap-server", servers, *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_level_that_goes_down_and_up_again_is_told(tmp_path):
    async def play(cluster):
        async def until(watch, level):
            async with asyncio.timeout(TIMEOUT_S):
                async for findings in watch.findings():
                    if findings.is_fresh and findings.metadata_version == level:
                        return

        async with Watch(watch_file(cluster, journal=str(tmp_path / "j")), tmp_path) as watch:
            await until(watch, "4.4-IV2")
            await asyncio.to_thread(move, cluster, "downgrade-all", "--release", "3.9")
            await until(watch, "3.9-IV0")
            await asyncio.to_thread(move, cluster, "upgrade", "--release-version", "4.4-IV2")
            await until(watch, "4.4-IV2")

    # One of its own: going up again raises kraft.version, too, which closes ways for good.
    with up("--nodes", "1", "--single-process", "--release", "4.4", "--data", tmp_path / "data") as cluster:
        asyncio.run(play(cluster))
    with Journal(tmp_path / "j") as journal:
        told = [event for _, event in journal.events() if event.kind is EventKind.LEVEL_CHANGED]
    assert [(event.fields["from"], event.fields["to"]) for event in told] == [
        ("4.4-IV2", "3.9-IV0"),
        ("3.9-IV0", "4.4-IV2"),
    ]


def test_a_full_disk_is_said_and_alarms_are_made_up_when_there_is_room(running, tmp_path):
    async def play():
        async with Watch(watch_file(running, journal=str(tmp_path / "j")), tmp_path) as watch:
            await state(watch, WayState.OPEN)
            database = watch.journal._database
            [pages] = database.execute("PRAGMA page_count").fetchone()
            database.execute(f"PRAGMA max_page_count = {pages}")
            await asyncio.to_thread(add_range, running, "full")
            async with asyncio.timeout(TIMEOUT_S):
                async for findings in watch.findings():
                    [source] = [source for source in findings.sources if source.name == "journal"]
                    if not source.is_fresh:
                        break
            assert watch.journal.events() == []
            database.execute("PRAGMA max_page_count = 100000")
            async with asyncio.timeout(TIMEOUT_S):
                async for findings in watch.findings():
                    if findings.sources[-1].is_fresh:
                        break
            await asyncio.to_thread(remove_range, running, "full")
            await state(watch, WayState.OPEN)
        return source.reason, {way.state for way in findings.ways}

    reason, states = asyncio.run(play())
    assert "database or disk is full" in reason
    assert states == {WayState.CLOSED}, "the verdict does not wait for the journal"
    with Journal(tmp_path / "j") as journal:
        kinds = [event.kind for _, event in journal.events() if event.release == "3.9"]
    assert kinds == [EventKind.WAY_CLOSED, EventKind.WAY_OPENED]


def own_connections():
    """Count this process's connections by the port that they lead to."""
    own = set()
    for link in Path("/proc/self/fd").iterdir():
        try:
            own.add(str(link.readlink()))
        except OSError:
            continue
    found = Counter()
    for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "01" and f"socket:[{fields[9]}]" in own:
            found[int(fields[2].rpartition(":")[2], 16)] += 1
    return found


def test_a_node_has_one_connection_to_each_of_its_listeners(running, tmp_path):
    async def play():
        async with Watch(watch_file(running), tmp_path) as watch:
            await state(watch, WayState.OPEN)
            seen = [own_connections()]
            async for _ in watch.findings():
                seen.append(own_connections())
                if len(seen) == 4:
                    return seen
        raise AssertionError

    addresses = f"{running.document['bootstrap_servers']},{running.document['controllers']}".split(",")
    ports = {int(address.rpartition(":")[2]) for address in addresses}
    for seen in asyncio.run(play()):
        assert {port: seen[port] for port in ports} == dict.fromkeys(ports, 1)
