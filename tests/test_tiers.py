"""What keeps a test in the tier of the Makefile that it belongs to."""

import os
import subprocess
from pathlib import Path

import pytest
from java_traps import JavaTraps

ROOT = Path(__file__).parent.parent


def test_who_calls_java_is_caught_even_through_another_program(tmp_path):
    traps = JavaTraps(tmp_path)
    before = os.environ["PATH"]
    with traps.laid():
        assert subprocess.run(["javac", "A.java"], capture_output=True, check=False).returncode == 97
        assert subprocess.run(["sh", "-c", "java -version; true"], capture_output=True, check=True).returncode == 0
    assert os.environ["PATH"] == before
    assert traps.remove_calls() == ["javac A.java", "java -version"]
    assert traps.remove_calls() == []


@pytest.mark.parametrize("name", ["check", "test", "test-kafka", "test-browser", "test-all"])
def test_every_tier_is_described(name):
    assert f"\n{name}: setup" in (ROOT / "Makefile").read_text()
    assert f"| `make {name}` |" in (ROOT / "CONTRIBUTING.md").read_text()
