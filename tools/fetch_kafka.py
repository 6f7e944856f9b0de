"""Fetch the jars of real Kafka releases with Maven: `fetch_kafka.py [RELEASE...]`, by default all of RELEASES.

Those of ON_DEMAND are fetched only if they are named.

They go to `.cache/kafka/<release>/libs/` of the clone, or below $FALKIRK_CACHE; existing ones are not fetched again.
Tests, benchmarks and the demo call `kafka_libs`, which needs only the standard library.
"""

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# What tests and demo start as clusters: fetched where nothing else is said.
RELEASES = ("3.7.2", "3.9.1", "4.0.0", "4.3.1", "4.4.0")
# Targets of a downgrade whose classes alone are asked, and by the full matrices only: fetched when they are named.
ON_DEMAND = ("3.8.1", "4.1.1", "4.2.1")

# kafka_2.13 holds broker, controller and StorageTool; the other two the command line tools and the metadata shell.
_SERVER_ARTIFACTS = ("kafka_2.13",)
_TOOL_ARTIFACTS = ("kafka-tools", "kafka-shell")
# Of these releases the tools were never published.
_WITHOUT_TOOLS = frozenset({"4.4.0"})
# Asked for by the poms, but not published for every release, and not needed to run anything.
_NOT_PUBLISHED = "kafka-tools-api"
# Kafka 3 brings its own SLF4J binding; with two of them it is chance which one logs.
_OTHER_LOG_BINDINGS = "slf4j-reload4j"
_SLF4J_SIMPLE = ("org.slf4j", "slf4j-simple", "1.7.36")
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
# A first fetch of one release takes under a minute; ten allow for a slow line.
_MAVEN_TIMEOUT_S = 600


class FetchError(Exception):
    """Kafka's jars are not available; the message says what is missing or what Maven printed."""


def cache_dir() -> Path:
    """Return the folder for fetched and compiled files: $FALKIRK_CACHE, else `.cache` of this clone."""
    configured = os.environ.get("FALKIRK_CACHE")
    return Path(configured).resolve() if configured else Path(__file__).resolve().parent.parent / ".cache"


def release_dir(release: str) -> Path:
    """Return the folder for everything of one release; it may not exist yet."""
    return cache_dir() / "kafka" / release


def kafka_libs(release: str) -> Path:
    """Return the folder of `release`'s jars, fetching them if they are missing.

    Several processes may call this at once: one fetches, the others wait.
    Raises FetchError if the release is none of RELEASES and ON_DEMAND, Maven or Java is missing, or Maven fails.
    """
    artifacts = _SERVER_ARTIFACTS if release in _WITHOUT_TOOLS else _SERVER_ARTIFACTS + _TOOL_ARTIFACTS
    return _fetched(release, "libs", _pom(release, artifacts), "kafka-clients")


def streams_libs(release: str) -> Path:
    """Return the folder of Kafka Streams' jar, which runs on those of `kafka_libs`; errors as there.

    RocksDB, its default store, is not there: at 70 MB it would be half of all that is fetched.
    """
    return _fetched(release, "streams", _pom(release, ("kafka-streams",), with_dependencies=False), "kafka-streams")


def _fetched(release: str, name: str, pom: ET.Element, wanted: str) -> Path:
    """Return the folder `name` of the release, fetched by `pom` if it is missing; a jar of `wanted` must be there."""
    if release not in RELEASES + ON_DEMAND:
        raise FetchError(f"Kafka {release} cannot be fetched here, only {', '.join(RELEASES + ON_DEMAND)}")
    libs = release_dir(release) / name
    if libs.is_dir():
        return libs
    with exclusive(cache_dir() / "kafka" / "fetch.lock"):
        # Another process may have fetched it while this one waited.
        if not libs.is_dir():
            _fetch(release, libs, pom, wanted)
    return libs


def required_program(name: str, purpose: str) -> str:
    """Find a program that real Kafka needs; raises FetchError with what to install."""
    found = shutil.which(name)
    if found is None:
        packages = {"mvn": "Maven (Debian: maven)", "java": "Java 17 (Debian: openjdk-17-jdk-headless)"}
        packages["javac"] = packages["java"].replace("Java 17", "a Java 17 JDK")
        raise FetchError(f"`{name}` is not on the PATH: {purpose} needs {packages.get(name, name)}")
    return found


@contextmanager
def exclusive(lock: Path) -> Iterator[None]:
    """Hold an advisory lock on the file `lock` during a block; it is released when the process ends."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _fetch(release: str, libs: Path, pom: ET.Element, wanted: str) -> None:
    """Fetch aside, then rename: a release is complete or absent."""
    maven = required_program("mvn", "fetching Kafka")
    required_program("java", "running Maven and Kafka")
    libs.parent.mkdir(parents=True, exist_ok=True)
    for abandoned in libs.parent.glob(".fetch-*"):  # we hold the lock: whoever made them was killed
        shutil.rmtree(abandoned)
    aside = Path(tempfile.mkdtemp(prefix=".fetch-", dir=libs.parent))
    try:
        ET.ElementTree(pom).write(aside / "pom.xml", encoding="unicode")
        _run_maven(maven, release, aside)
        if not any((aside / "libs").glob(f"{wanted}-*.jar")):
            raise FetchError(f"Maven reported success, but there is no {wanted} jar of {release}")
        (aside / "libs").rename(libs)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _run_maven(maven: str, release: str, aside: Path) -> None:
    # Strict checksums: a jar that does not match what its repository says is an error, not a warning.
    command = [maven, "--quiet", "--batch-mode", "--strict-checksums", f"--file={aside / 'pom.xml'}", COPY_GOAL]
    command += [f"-DoutputDirectory={aside / 'libs'}", f"-DexcludeArtifactIds={_OTHER_LOG_BINDINGS}"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_MAVEN_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"Maven did not fetch Kafka {release} within {_MAVEN_TIMEOUT_S} s") from error
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise FetchError(f"Maven could not fetch Kafka {release} (exit status {done.returncode}):\n{tail}")


def _pom(release: str, artifacts: Sequence[str], *, with_dependencies: bool = True) -> ET.Element:
    """Return a project that depends on Kafka's `artifacts`, and is never built."""
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    pom_children(
        project, modelVersion="4.0.0", groupId="falkirk", artifactId="kafka-jars", version="1", packaging="pom"
    )
    dependencies = ET.SubElement(project, "dependencies")
    for artifact in artifacts:
        dependency = ET.SubElement(dependencies, "dependency")
        pom_children(dependency, groupId="org.apache.kafka", artifactId=artifact, version=release)
        exclusion = ET.SubElement(ET.SubElement(dependency, "exclusions"), "exclusion")
        excluded = ("org.apache.kafka", _NOT_PUBLISHED) if with_dependencies else ("*", "*")
        pom_children(exclusion, groupId=excluded[0], artifactId=excluded[1])
    if with_dependencies:
        group, artifact, version = _SLF4J_SIMPLE
        pom_children(ET.SubElement(dependencies, "dependency"), groupId=group, artifactId=artifact, version=version)
    return project


def pom_children(parent: ET.Element, **texts: str) -> None:
    """Add an element with a text for each name."""
    for tag, text in texts.items():
        ET.SubElement(parent, tag).text = text


def main() -> int:
    """Fetch the named releases and print the folders of their jars."""
    parser = argparse.ArgumentParser(description="Fetch the jars of real Kafka releases by Maven.")
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"default: {' '.join(RELEASES)}")
    try:
        for release in parser.parse_args().releases or RELEASES:
            print(kafka_libs(release))
    except FetchError as error:
        print(f"fetch_kafka: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
