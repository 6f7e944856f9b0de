"""`tools/fetch_kafka.py`, with a fake Maven that records its calls."""

import subprocess
import sys
from pathlib import Path

import pytest

from fetch_kafka import ON_DEMAND, RELEASES, FetchError, kafka_libs, streams_libs

TOOL = Path(__file__).parents[2] / "tools" / "fetch_kafka.py"
# Notes each call, keeps the project file, and writes one jar of the release that the project asks for.
FAKE_MAVEN = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in
    --file=*) pom="${argument#--file=}" ;;
    -DoutputDirectory=*) libs="${argument#-DoutputDirectory=}" ;;
  esac
done
echo called >> "$FALKIRK_CACHE/calls"
cp "$pom" "$FALKIRK_CACHE/pom.xml"
mkdir -p "$libs"
BEHAVIOUR
"""
COPIES = 'echo jar > "$libs/kafka-clients-0.jar"'


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a PATH on which the fake Maven comes first."""
    monkeypatch.setenv("FALKIRK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin" / "mvn", FAKE_MAVEN.replace("BEHAVIOUR", COPIES))
    program(tmp_path / "bin" / "java", "#!/bin/sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return tmp_path / "cache"


def program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def calls(cache: Path) -> int:
    return len((cache / "calls").read_text().splitlines())


def test_jars_are_fetched_once(cache: Path) -> None:
    assert kafka_libs("4.3.1") == kafka_libs("4.3.1") == cache / "kafka" / "4.3.1" / "libs"
    assert [path.name for path in kafka_libs("4.3.1").iterdir()] == ["kafka-clients-0.jar"]
    assert calls(cache) == 1


def test_tools_are_asked_for_only_where_they_were_published(cache: Path) -> None:
    kafka_libs("4.3.1")
    assert "kafka-shell" in (cache / "pom.xml").read_text()
    kafka_libs("4.4.0")
    assert "kafka-shell" not in (cache / "pom.xml").read_text()


def test_the_streams_jar_comes_alone_beside_the_others(cache: Path, tmp_path: Path) -> None:
    kafka_libs("4.3.1")
    program(tmp_path / "bin" / "mvn", FAKE_MAVEN.replace("BEHAVIOUR", 'echo jar > "$libs/kafka-streams-0.jar"'))
    assert streams_libs("4.3.1") == streams_libs("4.3.1") == cache / "kafka" / "4.3.1" / "streams"
    assert "<artifactId>*</artifactId>" in (cache / "pom.xml").read_text()
    assert calls(cache) == 2


def test_a_failed_fetch_leaves_nothing_and_says_what_maven_said(cache: Path, tmp_path: Path) -> None:
    failing = FAKE_MAVEN.replace("BEHAVIOUR", f"{COPIES}; echo 'no such artifact'; exit 1")
    program(tmp_path / "bin" / "mvn", failing)
    with pytest.raises(FetchError, match=r"(?s)could not fetch Kafka 4\.3\.1 \(exit status 1\).*no such artifact"):
        kafka_libs("4.3.1")
    assert list((cache / "kafka" / "4.3.1").iterdir()) == []


def test_a_maven_that_brings_no_kafka_is_an_error(cache: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "mvn", FAKE_MAVEN.replace("BEHAVIOUR", ""))
    with pytest.raises(FetchError, match=r"no kafka-clients jar of 4\.3\.1"):
        kafka_libs("4.3.1")


def test_what_a_killed_fetch_left_is_removed(cache: Path) -> None:
    left = cache / "kafka" / "4.3.1" / ".fetch-killed"
    (left / "libs").mkdir(parents=True)
    kafka_libs("4.3.1")
    assert not left.exists()


@pytest.mark.parametrize(("missing", "package"), [("mvn", "Maven"), ("java", "Java 17")])
def test_a_missing_program_is_named(
    cache: Path, missing: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin" / missing).unlink()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(FetchError, match=rf"`{missing}` is not on the PATH: .*{package}"):
        kafka_libs("4.3.1")


def test_an_unknown_release_is_refused(cache: Path) -> None:
    with pytest.raises(FetchError, match=r"Kafka 1\.0 cannot be fetched here, only 3\.7\.2, "):
        kafka_libs("1.0")


@pytest.mark.slow
def test_some_releases_are_fetched_only_if_they_are_named(cache: Path) -> None:
    for arguments, fetched in (((), RELEASES), (ON_DEMAND, ON_DEMAND)):
        done = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines() == [str(cache / "kafka" / release / "libs") for release in fetched]


def test_two_processes_at_once_fetch_once(cache: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin" / "mvn", FAKE_MAVEN.replace("BEHAVIOUR", f"sleep 0.3; {COPIES}"))
    both = [subprocess.Popen([sys.executable, TOOL, "4.3.1"], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [process.communicate(timeout=30)[0].strip() for process in both]
    assert printed == [str(cache / "kafka" / "4.3.1" / "libs")] * 2
    assert calls(cache) == 1
