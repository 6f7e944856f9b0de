"""What is done and what is left of adding a Kafka release: `add_release.py RELEASE [ROOT]`, such as `4.5.0`.

Each line is a step of docs/internals/adding-a-release.md, in its order. The exit status is 1 while something is left.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Step:
    """A file that has to be there or, with `text`, to hold a text. Both may have {name}, {word} and {module}."""

    file: str
    todo: str
    text: str | None = None

    def is_done(self, root: Path, words: dict[str, str]) -> bool:
        path = root / self.file.format(**words)
        return path.exists() and (self.text is None or self.text.format(**words) in path.read_text())


STEPS = (
    Step("tools/fetch_kafka.py", "name it in RELEASES, and run the tool: the jars", '"{name}"'),
    Step("schemas/facts/{name}.json.gz", "facts_from_jars.py; then import_schemas.py and generate_messages.py"),
    Step("src/falkirk/versions/releases/{module}.py", "generate_versions.py"),
    Step("src/falkirk/versions/releases/__init__.py", "generate_versions.py", "{module}.CHANGES"),
    Step("tests/data/configs/facts-{name}.json.gz", "facts_from_jars.py"),
    Step("tools/generate_configs.py", "name it in RELEASES", '"{name}"'),
    Step("src/falkirk/versions/configs/releases/{module}.py", "generate_configs.py"),
    Step("src/falkirk/coordinator/records/loader_rules.py", "what its coordinators read", '"{name}"'),
    Step("src/falkirk/coordinator/transactions/transaction_rules.py", "what its transactions do", '"{name}"'),
    Step("src/falkirk/storage/formatting/rules.py", "how its kafka-storage formats", '"{word}"'),
    Step("src/falkirk/dump/tool.py", "what its kafka-dump-log prints", '"{word}"'),
    Step("src/falkirk/cli/console/kafka_tool.py", "what its kafka-features says", '"{word}"'),
    Step("src/falkirk/simulation/plans/roll_plan.py", "operators of the simulator roll to it", '"{word}"'),
    Step("src/falkirk/pipeline/made_fleet.py", "made fleets have it", '"{word}"'),
    Step("docs/reference/feature-levels.md", "make docs", "{word}"),
    Step("tests/data/api_versions.jsonl", "what its nodes answer to ApiVersions, recorded", '"{name}"'),
    Step("tests/interop/test_features.py", "real nodes of it are asked", '"{name}"'),
    Step("tests/interop/test_harness_matrix.py", "a real cluster of it starts", '"{name}"'),
    Step("tests/interop/logdir/test_downgrade_matrix.py", "it goes down to all older ones", '"{name}"'),
)


def main(arguments: list[str]) -> int:
    if len(arguments) not in {1, 2} or arguments[0].count(".") != 2:
        raise SystemExit(__doc__)
    root = Path(arguments[1]) if len(arguments) > 1 else ROOT
    left = list(steps_left(root, arguments[0]))
    words = words_of(arguments[0])
    for step in STEPS:
        print(f"[{' ' if step in left else 'x'}] {step.file.format(**words)}: {step.todo}")
    print(f"{len(left)} of {len(STEPS)} steps are left." if left else "All steps are done: now `make test-all`.")
    return 1 if left else 0


def steps_left(root: Path, name: str) -> Iterator[Step]:
    words = words_of(name)
    return (step for step in STEPS if not step.is_done(root, words))


def words_of(name: str) -> dict[str, str]:
    return {"name": name, "word": name.rpartition(".")[0], "module": "kafka_" + name.replace(".", "_")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
