import pytest

from falkirk.ledger.findings import BlockerKind, WarningKind
from falkirk.operations.lift_properties import findings_of_file
from falkirk.versions.release import Release

CONTROLLER = """process.roles=controller
node.id=1
listeners=CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=1@localhost:9093
log.dirs=/d
"""
BROKER = """process.roles=broker
node.id=2
listeners=PLAINTEXT://localhost:9092
controller.listener.names=CONTROLLER
controller.quorum.voters=1@localhost:9093
log.dirs=/d
"""


@pytest.fixture
def findings(tmp_path):
    def of(text):
        file = tmp_path / "server.properties"
        file.write_text(text)
        return list(findings_of_file(file, Release.parse("3.9")))

    return of


def test_files_that_both_can_run_have_nothing_in_the_way(findings):
    assert findings(CONTROLLER) == []
    assert findings(BROKER) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("authorizer.class.name=x.Authorizer", "authorizer.class.name: falkirk has no x.Authorizer"),
        ("alter.config.policy.class.name=x.P", "alter.config.policy.class.name: falkirk has no x.P"),
        ("principal.builder.class=x.B", "principal.builder.class: falkirk has no x.B"),
    ],
)
def test_what_falkirk_cannot_run_is_in_the_way_in_a_controllers_file_alone(findings, line, reason):
    [blocker] = findings(CONTROLLER + line)
    assert blocker.kind is BlockerKind.UNSUPPORTED_CONFIG
    assert reason in blocker.text
    assert f"--accept {line.partition('=')[0]}" in blocker.text
    assert findings(BROKER + line) == []


def test_what_the_targets_binaries_refuse_is_in_the_way_and_what_they_ignore_is_known(findings):
    [blocker] = findings(BROKER + "group.coordinator.rebalance.protocols=classic,streams\n")
    assert blocker.kind is BlockerKind.REFUSED_BY_TARGET
    assert "Kafka 3.9 does not start with it" in blocker.text
    assert blocker.fields["key"] == "group.coordinator.rebalance.protocols"
    [warning] = findings(BROKER + "controller.quorum.auto.join.enable=true\n")
    assert warning.kind is WarningKind.IGNORED_BY_TARGET
    assert "controller.quorum.auto.join.enable" in warning.text
