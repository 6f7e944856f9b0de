"""Read what releases of Kafka are off their jars: `facts_from_jars.py RELEASE...`, such as `4.4.0`.

Of each it writes `schemas/facts/RELEASE.json.gz` (APIs, features, metadata.version, records, schemas of all messages)
and `tests/data/configs/facts-RELEASE.json.gz` (configs). `tools/fetch_kafka.py` fetches the jars; needs a JDK.
The schemas are JSON in the jars; the rest is told by their classes, to `ReleaseFacts` and `ConfigFacts` in
`tests/interop/java`. Names, types, versions and defaults are kept; sentences of Kafka's are not.
"""

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import version_facts
from fetch_kafka import FetchError, kafka_libs
from version_facts import Facts

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / folder) for folder in ("interop", "support")]

from config_facts import write_config_facts  # noqa: E402
from kafka_java import run_program  # noqa: E402

# Comments may stand anywhere in a schema, and a comma before a closing bracket.
TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[\]}])', re.DOTALL)
SENTENCES = ("about",)


def main(releases: list[str]) -> None:
    if not releases:
        raise SystemExit(__doc__)
    for release in releases:
        try:
            libs = kafka_libs(release)
        except FetchError as error:
            raise SystemExit(f"facts_from_jars: {error}") from error
        facts = json.loads(run_program("ReleaseFacts", [], release=release))
        facts["schemas"] = dict(schemas(libs))
        version_facts.write_release(release, facts)
        write_config_facts(release, json.loads(run_program("ConfigFacts", [], release=release)))
        print(f"{release}: read from {libs}")


def schemas(libs: Path) -> Iterator[tuple[str, Facts]]:
    """Yield `module/Name` and the schema of each message and record."""
    for jar in sorted(libs.glob("kafka*.jar")):
        module = re.sub(r"-\d[\w.]*$", "", jar.stem)
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if re.search(r"(message|metadata)/.*\.json$", name):
                    schema = without_sentences(json.loads(TOKEN.sub(r"\1", archive.read(name).decode())))
                    if "validVersions" in schema:
                        yield f"{module}/{schema['name']}", {"fields": [], **schema}


def without_sentences(value: Facts) -> Facts:
    if isinstance(value, list):
        return [without_sentences(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {name: without_sentences(each) for name, each in value.items() if name not in SENTENCES}
    # Some schemas quote the number.
    return kept | {"tag": int(kept["tag"])} if "tag" in kept else kept


if __name__ == "__main__":
    main(sys.argv[1:])
