"""Settings of the whole suite."""

import pytest
from hypothesis import HealthCheck, settings

# Wall time says nothing on a shared machine with one test process per core. `full`: as `make test-all` has it.
for name, examples in (("suite", 50), ("full", 150)):
    settings.register_profile(name, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite the golden stories; read the difference before you commit it",
    )


@pytest.fixture
def update_golden(request):
    """Whether golden files are to be rewritten."""
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
    """Give what a test writes in zookeeper.connect: the server, and a chroot of the test's own, already made."""
    from zookeeper_server import new_chroot

    return new_chroot(zookeeper)
