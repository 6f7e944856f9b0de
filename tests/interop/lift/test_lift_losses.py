"""What a lift of real Kafka loses is what was reported: Admin's answers change by the ledger and by nothing else."""

from pathlib import Path

import pytest
from client_load import LOAD_TOPICS
from confluent_kafka.admin import AdminClient, NewTopic
from kafka_answers import differences, facts
from kafka_cluster import COMBINED, Clusters, KafkaCluster
from kafka_java import seed
from kafka_ledger import expected_answers
from kafka_state import BOOT_USER, Document, ask
from lifted_cluster import LOSSES, SESSIONS, under_load
from node_hooks import IN_PLACE
from operator_load import LOAD

pytestmark = [pytest.mark.interop, pytest.mark.full]
THREE = dict.fromkeys((1, 2, 3), COMBINED)
STEPS = "topics,configs,acls,scram,quotas,data,transactions,classic-groups,consumer-groups"
LIMITS = {"step_s": 100, "metadata_outage_s": 60}
STRICT = "strict"
ELR = "eligible_leader_replicas"


def answers_without_load(cluster: KafkaCluster, *, like: Document | None = None) -> Document:
    found = ask(cluster, like=like)
    for section in ("topics", "configs", "offsets", "messages"):
        found[section] = {
            name: one for name, one in found[section].items() if LOAD_TOPICS not in name and LOAD not in name
        }
    for section in ("groups", "transactions"):
        found[section][section] = {
            name: one for name, one in found[section][section].items() if not name.startswith(LOAD)
        }
    return found


def test_admins_answers_are_as_before_but_for_the_ledger(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.new("4.3.1", THREE, dynamic=True, settings=SESSIONS)
    cluster.format(scram=[BOOT_USER])
    cluster.start()
    assert seed(cluster.bootstrap_servers, "--steps", STEPS)["left_out"] == {}
    before = answers_without_load(cluster)
    assert facts(before) > 500
    with under_load(clusters, tmp_path, THREE, made=cluster, limits=LIMITS) as lifted:
        ledger = lifted.check()["ledger"]
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        lifted.roll(dict.fromkeys(cluster.nodes, "3.9.1"))
    ledger["groups"] = [each for each in ledger["groups"] if not each["group"].startswith(LOAD)]
    assert differences(expected_answers(before, ledger), answers_without_load(cluster, like=before)) == []


def test_eligible_leaders_that_come_into_use_meanwhile_are_given_up_only_if_that_is_accepted(
    clusters: Clusters, tmp_path: Path
) -> None:
    """A topic that needs all three brokers gets eligible leaders while one of them is replaced."""
    # As by default: the broker leaves its ISRs when it is stopped, and not a session later.
    settings = {**SESSIONS, "controlled.shutdown.enable": "true"}
    fields: dict[str, object] = {"place": "in-place-of-one", "limits": LIMITS, "settings": settings}
    with under_load(clusters, tmp_path, THREE, dynamic=False, hooks=IN_PLACE, **fields) as lifted:
        servers = lifted.cluster.bootstrap_servers
        topic = NewTopic(STRICT, 3, 3, config={"min.insync.replicas": "3"})
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([topic])[STRICT].result()
        lifted.await_in_sync()
        refused = lifted.lift("run")
        assert refused.status == 3, refused
        assert f"it would lose {ELR}, which accept_losses does not name" in refused.stderr
        assert lifted.status()["level"] == "4.3-IV0"
        lifted.check_voters()
        lifted.prepare_next(1)
        lifted.change_file(accept_losses=[*LOSSES, ELR])
        ended = lifted.lift("run")
        assert ended.status == 0, ended
        assert lifted.status()["level"] == "3.9-IV0"
        [lowered] = [entry for entry in lifted.status()["entries"] if entry["event"] == "level-lowered"]
        given_up = [loss["kind"] for loss in lowered["fields"]["losses"] if loss["kind"] not in LOSSES]
        assert given_up == [ELR] * 3
        lifted.check_voters()
        lifted.await_in_sync()
    # Stopped together they would wait for a controlled shutdown.
    lifted.cluster.kill()
    lifted.check_no_trace()
