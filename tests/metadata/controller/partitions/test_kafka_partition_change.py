"""Changes of partitions by chance, decided on by Kafka's own builder: ours decides the same."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from falkirk.metadata.controller.partitions.partition_change import Election, PartitionChange, Surroundings
from falkirk.metadata.controller.partitions.partition_reassignment import Reassignment
from falkirk.metadata.image.partition import Partition
from falkirk.protocol.metadata_record import encode_metadata_record
from falkirk.versions.metadata_version import MetadataVersion

ROOT = Path(__file__).parents[4]
for folder in (ROOT / "tests" / "interop", ROOT / "tools"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from kafka_java import jvm_command  # noqa: E402 (its folder is put on the path just above)

from fetch_kafka import kafka_libs, required_program  # noqa: E402 (same)

HIGHEST = {"3.7.2": 19, "3.9.1": 21, "4.0.0": 25, "4.3.1": 30, "4.4.0": 33}
ALWAYS = ("3.9.1", "4.4.0")
CHANGES = 5_000
TOPIC_ID = (1).to_bytes(8, "big") + (2).to_bytes(8, "big")
ELR_LEVEL = 23


class Kafka:
    """The program of java/ChangePartition.java on the jars of one release."""

    def __init__(self, release, classes):
        source = Path(__file__).parent / "java" / "ChangePartition.java"
        javac = [required_program("javac", "compiling the test programs"), "-nowarn", "-Xlint:none"]
        libs = kafka_libs(release)
        subprocess.run([*javac, "-d", str(classes), "-cp", str(libs / "*"), str(source)], check=True, timeout=120)
        self.command = jvm_command(release, "ChangePartition", [], jars=[classes], log_level="error")

    def decide(self, lines):
        done = subprocess.run(
            self.command, input="".join(f"{line}\n" for line in lines), capture_output=True, text=True,
            check=True, timeout=120,
        )  # fmt: skip
        return done.stdout.splitlines()


@pytest.fixture(
    params=[
        pytest.param(release, marks=[] if release in ALWAYS else [pytest.mark.full], id=release) for release in HIGHEST
    ]
)
def kafka(request, tmp_path):
    found = Kafka(request.param, tmp_path)
    found.release = request.param
    return found


@pytest.mark.interop
@pytest.mark.slow
def test_kafka_decides_the_same_on_changes_of_partitions(kafka):
    changes = [made_change(Random(seed), HIGHEST[kafka.release]) for seed in range(CHANGES)]
    theirs = kafka.decide([words_of(*change) for change in changes])
    assert len(theirs) == CHANGES
    different = []
    for (change, alive), their in zip(changes, theirs, strict=True):
        ours = change.record()
        is_same = their == ("none" if ours is None else encode_metadata_record(*ours).hex())
        if not is_same and not is_known_difference(kafka.release, change, ours):
            different.append((words_of(change, alive), their, ours))
    assert not different, (len(different), different[:3])
    # The cases are of many kinds.
    assert CHANGES // 20 < theirs.count("none") < CHANGES // 2


def is_known_difference(release, change, ours):
    """True if a release may decide otherwise: docs/reference/compatibility.md, "Controller"."""
    partition, reassignment = change.partition, change.reassignment
    elr_enabled = change.surroundings.elr_enabled
    is_reassigning = bool(partition.adding_replicas or partition.removing_replicas)
    replicas = None if ours is None else ours.record.replicas
    if elr_enabled and replicas is not None and not set(partition.replicas) <= set(replicas):
        return True  # replicas that go stay eligible
    if elr_enabled and partition.leader == -1 and not partition.last_known_elr:
        return True  # -1 becomes the last known leader
    if release < "4.3":
        # Rules of an earlier day: when a reassignment ends, what the last known leader is.
        is_ending = is_reassigning or (reassignment is not None and reassignment.removing + reassignment.adding)
        return bool(is_ending) or elr_enabled or (release < "3.9" and change.isr == ())
    return False


def made_change(random, highest):
    """Return a change by chance, and the replicas that may lead."""
    level = random.randint(7, highest)
    elr_enabled = level >= ELR_LEVEL and random.random() < 0.8
    partition = made_partition(random, elr_enabled=elr_enabled)
    brokers = range(6)
    alive = frozenset(broker for broker in brokers if random.random() < 0.6)
    change = PartitionChange(
        topic_id=TOPIC_ID,
        partition_id=3,
        partition=partition,
        surroundings=Surroundings(
            metadata_version=MetadataVersion.of_level(level),
            elr_enabled=elr_enabled,
            min_insync_replicas=random.randint(1, 3),
            may_lead=alive.__contains__,
            default_directory=lambda broker: directory(broker + 100),
        ),
        election=random.choice(list(Election)),
    )
    kind = random.choice(["isr", "leaving", "leaving", "unclean", "reassign", "cancel", "directory", "elect", "elect"])
    if kind == "isr":
        change.isr = some(random, partition.replicas) or partition.isr
        change.leader_recovery_state = random.choice([None, 0])
    elif kind in {"leaving", "unclean"}:
        left = random.choice(partition.replicas)
        change.isr = tuple(replica for replica in partition.isr if replica != left)
        change.unclean_shutdown = (left,) if kind == "unclean" else ()
    elif kind == "reassign":
        target = random.sample(brokers, random.randint(1, 4))
        change.reassignment = Reassignment.between(partition.replicas, target)
    elif kind == "cancel":
        replicas = tuple(replica for replica in partition.replicas if replica not in partition.adding_replicas)
        change.isr = tuple(replica for replica in partition.isr if replica in replicas) or replicas[:1]
        change.reassignment = Reassignment(replicas)
    elif kind == "directory":
        change.directories = {random.choice(partition.replicas): directory(77)}
    return change, alive


def made_partition(random, *, elr_enabled):
    replicas = tuple(random.sample(range(6), random.randint(1, 5)))
    isr = some(random, replicas)
    if not isr and not elr_enabled:
        isr = replicas[-1:]
    others = [replica for replica in replicas if replica not in isr]
    leader = random.choice([-1, *isr])
    adding = some(random, replicas[1:]) if random.random() < 0.4 else ()
    rest = [replica for replica in replicas if replica not in adding]
    return Partition(
        replicas=replicas,
        directories=tuple(directory(random.choice([0, 1, replica + 100])) for replica in replicas),
        isr=isr,
        leader=leader,
        leader_epoch=5,
        partition_epoch=9,
        leader_recovery_state=int(random.random() < 0.2),
        adding_replicas=adding,
        removing_replicas=some(random, rest[1:]) if adding or random.random() < 0.2 else (),
        eligible_leader_replicas=tuple(sorted(some(random, others))) if elr_enabled else (),
        last_known_elr=(random.choice(replicas),) if elr_enabled and leader == -1 and random.random() < 0.7 else (),
    )


def some(random, replicas):
    return tuple(random.sample(replicas, random.randint(0, len(replicas))))


def directory(number):
    return bytes(8) + number.to_bytes(8, "big")


def words_of(change, alive):
    """Return the line that ChangePartition.java reads."""
    partition, surroundings = change.partition, change.surroundings
    words = {
        "level": surroundings.metadata_version.level,
        "elr_enabled": str(surroundings.elr_enabled).lower(),
        "min_isr": surroundings.min_insync_replicas,
        "election": change.election.name,
        "alive": sorted(alive),
        "replicas": partition.replicas,
        "directories": [int.from_bytes(each[8:], "big") for each in partition.directories],
        "isr": partition.isr,
        "leader": partition.leader,
        "recovery": partition.leader_recovery_state,
        "removing": partition.removing_replicas,
        "adding": partition.adding_replicas,
        "elr": partition.eligible_leader_replicas,
        "last_known": partition.last_known_elr,
    }
    if change.isr is not None:
        words["target_isr"] = change.isr
    if change.reassignment is not None:
        words |= {
            "target_replicas": change.reassignment.replicas,
            "target_removing": change.reassignment.removing,
            "target_adding": change.reassignment.adding,
        }
    if change.leader_recovery_state is not None:
        words["target_recovery"] = change.leader_recovery_state
    if change.unclean_shutdown:
        words["unclean_shutdown"] = change.unclean_shutdown
    if change.directories:
        words["moved"] = next(iter(change.directories))
    return " ".join(f"{name}={text(value)}" for name, value in words.items())


def text(value):
    return ",".join(str(each) for each in value) if isinstance(value, tuple | list) else str(value)
