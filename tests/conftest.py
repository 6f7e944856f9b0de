"""Settings of the whole suite."""

import tempfile
import time
from pathlib import Path

import pytest
import tiers
from hypothesis import HealthCheck, settings
from java_traps import JavaTraps

# A test without the mark `slow` that takes more of the processor is named at the end of the run. It does not fail: how
# long a test takes is the machine's affair too.
UNMARKED_SECONDS_MAX = 2.0
TOO_LONG = "seconds beyond its tier"
# Wall time says nothing on a shared machine with one test process per core.
for name, examples in (("check", 15), ("suite", 50), ("full", 150)):
    settings.register_profile(name, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
TRAPS = pytest.StashKey[JavaTraps]()


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden stories; read the difference before you commit it",
    )


def pytest_configure(config):
    folder = tempfile.TemporaryDirectory(prefix="falkirk-java-traps-")
    config.add_cleanup(folder.cleanup)
    config.stash[TRAPS] = JavaTraps(Path(folder.name))


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items):
    tiers.set_marks(items)
    tiers.place_longest_first(items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    if tiers.uses_jvm(item):
        return (yield)
    with item.config.stash[TRAPS].laid():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    started = time.process_time()
    result = yield
    took = time.process_time() - started
    unlimited = tiers.uses_jvm(item) or item.get_closest_marker("slow") or settings.get_current_profile_name() == "full"
    if took > UNMARKED_SECONDS_MAX and not unlimited:
        item.user_properties.append((TOO_LONG, took))
    return result


def pytest_terminal_summary(terminalreporter):
    reports = [report for report in terminalreporter.getreports("passed") if report.when == "call"]
    long = [(dict(report.user_properties).get(TOO_LONG), report.nodeid) for report in reports]
    long = sorted(((took, name) for took, name in long if took), reverse=True)
    if long:
        terminalreporter.section("take much of the processor: make them smaller, or mark them slow")
    for took, name in long:
        terminalreporter.write_line(f"{took:.1f} s {name}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    result = yield
    if calls := item.config.stash[TRAPS].remove_calls():
        pytest.fail(f"a test without the marks {', '.join(tiers.JVM_MARKS)} called: {'; '.join(calls)}")
    return result


@pytest.fixture
def update_golden(request):
    """True if golden files are to be rewritten."""
    return request.config.getoption("--update-golden")


@pytest.fixture(scope="session")
def zookeeper_process(tmp_path_factory):
    """One ZooKeeper for all tests of a process."""
    from zookeeper_server import running_server

    with running_server(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture
def zookeeper(zookeeper_process):
    """A ZooKeeper that serves. A test that ends or pauses it starts it again before it is over."""
    zookeeper_process.start_again_if_ended()
    return zookeeper_process


@pytest.fixture
def chroot(zookeeper):
    """Return what a test writes in zookeeper.connect: the server, and a chroot of the test's own, already made."""
    from zookeeper_server import new_chroot

    return new_chroot(zookeeper)
