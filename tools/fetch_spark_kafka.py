"""Fetch Spark's Kafka connector with Maven and build its missing dependency: `fetch_spark_kafka.py` prints the jars.

The connector's own dependency `spark-token-provider-kafka-0-10_2.13` is not on every mirror of Maven Central. It serves
delegation tokens; tests/interop/clients/spark-token-provider has the few methods that the connector calls, for clients
without tokens. Everything goes to `.cache/spark-kafka` of the clone, or below $FALKIRK_CACHE.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Sequence
from pathlib import Path

from fetch_kafka import COPY_GOAL, FetchError, cache_dir, exclusive, kafka_libs, pom_children, required_program

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "interop" / "clients" / "spark-token-provider"
# The newest that is published; Spark 4.3 runs with it.
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0")
POOL = ("org.apache.commons", "commons-pool2", "2.13.1")
# Whose clients the connector is made for.
KAFKA_RELEASE = "3.9.1"
_TIMEOUT_S = 300


def connector_jars(spark_jars: Path) -> list[Path]:
    """Return the jars that Spark needs besides its own, which are in `spark_jars`. Raises FetchError."""
    clients = sorted(kafka_libs(KAFKA_RELEASE).glob("kafka-clients-*.jar"))
    folder = cache_dir() / "spark-kafka" / "-".join(CONNECTOR[1:])
    with exclusive(cache_dir() / "spark-kafka.lock"):
        if not folder.is_dir():
            _fetch(folder)
        stand_in = _stand_in(
            folder, [*clients, *spark_jars.glob("scala-library-*.jar"), *spark_jars.glob("spark-core_*.jar")]
        )
    return [*sorted(folder.glob("*.jar")), *clients, stand_in]


def _fetch(folder: Path) -> None:
    maven = required_program("mvn", "fetching Spark's connector")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        aside = Path(name)
        ET.ElementTree(_pom()).write(aside / "pom.xml", encoding="unicode")
        command = [maven, "--quiet", "--batch-mode", "--strict-checksums", f"--file={aside / 'pom.xml'}", COPY_GOAL]
        command.append(f"-DoutputDirectory={aside / 'jars'}")
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
            raise FetchError(f"Maven could not fetch Spark's connector (exit status {done.returncode}):\n{tail}")
        (aside / "jars").rename(folder)


def _pom() -> ET.Element:
    project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
    pom_children(
        project, modelVersion="4.0.0", groupId="falkirk", artifactId="spark-kafka", version="1", packaging="pom"
    )
    dependencies = ET.SubElement(project, "dependencies")
    for group, artifact, version in (CONNECTOR, POOL):
        dependency = ET.SubElement(dependencies, "dependency")
        pom_children(dependency, groupId=group, artifactId=artifact, version=version)
        exclusion = ET.SubElement(ET.SubElement(dependency, "exclusions"), "exclusion")
        pom_children(exclusion, groupId="*", artifactId="*")
    return project


def _stand_in(folder: Path, class_path: Sequence[Path]) -> Path:
    """Compile the methods that the connector calls of the token provider."""
    sources = sorted(SOURCES.glob("*.java"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    jar = folder.parent / f"token-provider-{digest}.jar"
    if jar.exists():
        return jar
    javac = required_program("javac", "Spark's connector")
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        classes = Path(name) / "classes"
        command = [javac, "-nowarn", "-Xlint:none", "-d", str(classes), "-cp", ":".join(map(str, class_path))]
        done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise FetchError(f"javac could not compile {SOURCES.name}:\n{done.stderr}")
        aside = Path(name) / jar.name
        with zipfile.ZipFile(aside, "w") as archive:
            for path in sorted(classes.rglob("*.class")):
                archive.write(path, path.relative_to(classes))
        shutil.move(aside, jar)
    return jar


def main() -> int:
    """Fetch and print the jars; Spark's own are taken from the installed PySpark."""
    import pyspark  # noqa: PLC0415 - only to find its folder

    try:
        jars = connector_jars(Path(pyspark.__file__).parent / "jars")
    except FetchError as error:
        print(f"fetch_spark_kafka: {error}", file=sys.stderr)
        return 1
    print(*jars, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
