"""Histories by chance, replayed by Kafka's own image classes and written by its own writers: ours do the same."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from metadata_files import batch_of, canonical
from metadata_histories import HistoryMaker, values
from metadata_images import options_at

ROOT = Path(__file__).parents[2]
for folder in (ROOT / "tests" / "interop", ROOT / "tools"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

from kafka_java import jvm_command  # noqa: E402 (same)

from falkirk.metadata.levels.writer import LossReport, write_image  # noqa: E402 (same)
from falkirk.metadata.publishing.loader import MetadataLoader  # noqa: E402 (behind the two above)
from falkirk.protocol.metadata_record import decode_metadata_record  # noqa: E402 (same)
from fetch_kafka import kafka_libs, required_program  # noqa: E402 (its folder is put on the path just above)

HIGHEST = {"3.7.2": 19, "3.9.1": 21, "4.0.0": 25, "4.3.1": 30, "4.4.0": 33}
ALWAYS = ("3.9.1", "4.4.0")
HISTORIES = 60


class Kafka:
    """The program of java/ReplayImage.java on the jars of one release."""

    def __init__(self, release, classes):
        source = Path(__file__).parent / "java" / "ReplayImage.java"
        javac = [required_program("javac", "compiling the test programs"), "-nowarn", "-Xlint:none"]
        libs = kafka_libs(release)
        subprocess.run([*javac, "-d", str(classes), "-cp", str(libs / "*"), str(source)], check=True, timeout=120)
        command = jvm_command(release, "ReplayImage", [], jars=[classes], log_level="error")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().split()

    def replay(self, batch):
        assert self.ask("replay", *(value.hex() for value in batch)) == ["ok"]

    def written(self, level, *, elr):
        """Return what Kafka writes, None where its writer throws."""
        answer, *records = self.ask("write", str(level), str(elr).lower())
        if answer == "error":
            return None
        return Counter(canonical(*decode_metadata_record(bytes.fromhex(record))) for record in records)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(timeout=60) == 0


@pytest.fixture(
    params=[
        pytest.param(release, marks=[] if release in ALWAYS else [pytest.mark.full], id=release) for release in HIGHEST
    ]
)
def kafka(request, tmp_path):
    found = Kafka(request.param, tmp_path)
    found.release = request.param
    yield found
    found.close()


@pytest.mark.interop
@pytest.mark.slow
def test_kafka_makes_and_writes_the_same_image_of_the_same_records(kafka):
    writes = 0
    for seed in range(HISTORIES):
        random = Random(seed)
        level = random.randint(7, HIGHEST[kafka.release])
        maker = HistoryMaker(random, level)
        loader, offset = MetadataLoader(), 0
        kafka.ask("new")
        for records in [maker.first_batch(), *(maker.batch() for _ in range(random.randint(1, 40)))]:
            batch = values(records)
            # One by one: what Kafka makes of a delta with several records can depend on hashes (see compatibility.md).
            for value in batch:
                kafka.replay([value])
            loader.load_log([batch_of(batch, offset)])
            offset += len(batch)
        for target in (level, random.randint(7, HIGHEST[kafka.release])):
            for elr in (False, True):
                theirs = kafka.written(target, elr=elr)
                if theirs is None:
                    # Kafka's writer throws where eligible replicas have no place; ours converts them.
                    assert elr
                    assert target < 23
                    continue
                report = LossReport()
                options = options_at(target, elr_enabled=elr, bootstrap_levels_bind=False)
                ours = Counter(canonical(*record) for record in write_image(loader.image, options, report.add))
                allowed = deviations(kafka.release, report)
                assert not [item for item in (ours - theirs) + (theirs - ours) if not allowed(item)], (seed, target)
                writes += 1
    assert writes > HISTORIES


def deviations(release, report):
    """Return the records that may differ: docs/reference/operator-differences.md and compatibility.md."""
    converted = {
        (loss.key.fields()["topic_id"], loss.key.fields()["partition"])
        for loss in report.losses
        if loss.kind in {"elr_to_isr", "last_known_leader_to_isr"}
    }

    def allowed(item):
        name, _, text = item
        fields = json.loads(text)
        if name == "PartitionRecord":
            return (fields["topicId"], fields["partitionId"]) in converted
        if name == "FeatureLevelRecord":
            return fields["name"] == "eligible.leader.replicas.version"
        if name == "ZkMigrationStateRecord":
            return release >= "4" or fields["zkMigrationState"] == 0
        # Groups' configs have a resource type that 3.x does not know.
        return name == "ConfigRecord" and release < "4" and fields["resourceType"] in {0, 32}

    return allowed
