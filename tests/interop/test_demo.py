"""The demo runs to its end, with real Kafka and without; Java is needed for the first of these tests alone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "demo" / "run.py"


def play(**environment):
    command = [sys.executable, str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | environment)
    assert done.returncode == 0, done.stderr + done.stdout[-3000:]
    return " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.interop
@pytest.mark.xdist_group("kafka-2")
def test_the_demo_ends_with_real_kafka_answering_as_before(clusters):
    story = play()

    assert "would be lost; `--unsafe` goes on" in story
    assert "The metadata is the same." in story
    assert "Kafka 3.9.1 serves it: 21 topics, 3 users" in story
    assert "answers are those of Kafka 4.3.1." in story
    assert "2 clusters, 2 of them changed" in story
    assert "To 3.9-IV0 (Kafka 3.9), of 2 clusters: 0 can go and lose nothing" in story
    assert "LEFT OUT" not in story
    assert (SCRIPT.parents[1] / "demo-out" / "fleet-report" / "report.html").is_file()


@pytest.mark.slow
def test_without_java_the_demo_says_that_nothing_was_proved(tmp_path):
    story = play(PATH=str(tmp_path))

    assert "The metadata is the same." in story
    assert "LEFT OUT: real Kafka was not started" in story
    assert "LEFT OUT: no tables and no report. Spark needs Java 17 or newer" in story
    assert "serves it" not in story
