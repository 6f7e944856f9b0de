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
import zipfile
from collections.abc import Sequence
from pathlib import Path

from fetch_jars import fetch_jars
from fetch_kafka import FetchError, cache_dir, exclusive, kafka_libs, required_program

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tests" / "interop" / "clients" / "spark-token-provider"
# The newest that is published; Spark 4.3 runs with it.
CONNECTOR = ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0")
POOL = ("org.apache.commons", "commons-pool2", "2.13.1")
# Whose clients the connector is made for.
KAFKA_RELEASE = "3.9.1"


def connector_jars(spark_jars: Path) -> list[Path]:
    """Return the jars that Spark needs besides its own, which are in `spark_jars`. Raises FetchError."""
    clients = sorted(kafka_libs(KAFKA_RELEASE).glob("kafka-clients-*.jar"))
    folder = fetch_jars("spark-kafka", [CONNECTOR, POOL], with_dependencies=False)
    with exclusive(cache_dir() / "spark-kafka.lock"):
        stand_in = _stand_in(
            folder, [*clients, *spark_jars.glob("scala-library-*.jar"), *spark_jars.glob("spark-core_*.jar")]
        )
    return [*sorted(folder.glob("*.jar")), *clients, stand_in]


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
