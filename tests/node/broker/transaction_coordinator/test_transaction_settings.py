from falkirk.coordinator.transactions.context import TransactionSettings
from falkirk.node.broker.transaction_coordinator.transaction_settings import transaction_settings
from falkirk.versions.release import Release


def test_the_defaults_are_those_of_the_release():
    for release in ("3.7", "3.9", "4.0", "4.4"):
        assert transaction_settings({}, Release.parse(release)) == TransactionSettings()


def test_what_server_properties_say_counts():
    properties = {
        "transactional.id.expiration.ms": "1",
        "transaction.max.timeout.ms": "2",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "3",
        "transaction.remove.expired.transaction.cleanup.interval.ms": "4",
        "transaction.two.phase.commit.enable": "true",
    }
    found = transaction_settings(properties, Release.parse("4.4"))
    assert found == TransactionSettings(
        transactional_id_expiration_ms=1,
        transaction_max_timeout_ms=2,
        abort_timed_out_transaction_cleanup_interval_ms=3,
        remove_expired_transaction_cleanup_interval_ms=4,
        two_phase_commit_enable=True,
    )


def test_a_release_without_two_phase_commit_does_not_enable_it():
    assert not transaction_settings({}, Release.parse("3.7")).two_phase_commit_enable
