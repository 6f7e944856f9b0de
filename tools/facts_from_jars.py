"""Read the fact tables of releases that the shared facts cover only in part from the published jars.

usage: facts_from_jars.py FACTS_JAVA EXTRACT_SCHEMAS OUT_DIR RELEASE=LIBDIR...

FACTS_JAVA and EXTRACT_SCHEMAS are the two extractors that made the shared facts (`Facts.java`, `extract_schemas.py`);
LIBDIR holds the jars of one release (`kafka_2.13` and its dependencies, from Maven). OUT_DIR gets the files that
`generate_versions.py` reads, in the same form; for a release that the shared facts cover in full, they come out equal.
Needs a JDK.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# Facts of one release, as JSON: each value's shape is the extractor's.
Facts = dict[str, Any]


def main(arguments: list[str]) -> None:
    """Write OUT_DIR/{api_ranges,features,metadata_versions,record_versions}.json."""
    facts_java, extract_schemas, out, *releases = arguments
    tables: dict[str, Facts] = {"api_ranges": {}, "features": {}, "metadata_versions": {}, "record_versions": {}}
    for release, _, libraries in (argument.partition("=") for argument in releases):
        facts = _reflected_facts(Path(facts_java), Path(libraries))
        schemas = _schemas(Path(extract_schemas), release, Path(libraries))
        tables["api_ranges"][release] = facts["apis"]
        tables["features"][release] = facts["features"]
        tables["metadata_versions"][release] = [{"name": row["version"], **row} for row in facts["mvs"]]
        tables["record_versions"][release] = _record_versions(facts, schemas)
        print(f"{release}: read from {libraries}")
    tables["metadata_versions"] = {"releases": tables["metadata_versions"]}
    Path(out).mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        (Path(out) / f"{name}.json").write_text(json.dumps(table, indent=1) + "\n")


def _reflected_facts(facts_java: Path, libraries: Path) -> Facts:
    with tempfile.TemporaryDirectory() as build:
        jars = f"{libraries}/*"
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", build, facts_java], check=True)
        ran = subprocess.run(
            ["java", "-cp", f"{jars}:{build}", "Facts", "all"], check=True, stdout=subprocess.PIPE, text=True
        )
    facts: Facts = json.loads(ran.stdout)
    return facts


def _schemas(extract_schemas: Path, release: str, libraries: Path) -> Facts:
    ran = subprocess.run(
        [sys.executable, extract_schemas, release, libraries], check=True, stdout=subprocess.PIPE, text=True
    )
    schemas: Facts = json.loads(ran.stdout)["messages"]
    return {name.partition("/")[2]: schema for name, schema in schemas.items()}


def _record_versions(facts: Facts, schemas: Facts) -> Facts:
    pairs = [_pair(schema, schemas) for name, schema in schemas.items() if name.endswith("Key")]
    coordinators = {
        "groupCoordinator": (
            "groupRecords",
            ("OffsetCommit", "GroupMetadata", "ConsumerGroup", "ShareGroup", "Streams"),
        ),
        "transactionCoordinator": ("txnRecords", ("TransactionLog",)),
        "shareCoordinator": ("shareRecords", ("ShareSnapshot", "ShareUpdate")),
    }
    return {
        **{part: facts[part] for part in ("metadataRecords", "controlRecords", "controlRecordVersions")},
        **{
            coordinator: {
                "types": facts[types],
                "schemas": sorted(
                    (pair for pair in pairs if pair["key"].removeprefix("Legacy").startswith(prefixes)), key=_type_id
                ),
            }
            for coordinator, (types, prefixes) in coordinators.items()
        },
    }


def _pair(key: Facts, schemas: Facts) -> Facts:
    value = schemas[key["name"].removesuffix("Key") + "Value"]
    return {
        "key": key["name"],
        "keyVersions": key["validVersions"],
        "keyApiKey": key.get("apiKey"),
        "keyType": key["type"],
        "value": value["name"],
        "valueVersions": value["validVersions"],
        "valueFlexibleVersions": value["flexibleVersions"],
    }


def _type_id(pair: Facts) -> int:
    """Return the record type: its own number, or (up to 4.0) the first version of its key."""
    number = pair["keyApiKey"]
    return int(pair["keyVersions"].partition("-")[0]) if number is None else int(number)


if __name__ == "__main__":
    main(sys.argv[1:])
