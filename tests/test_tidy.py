"""The tree keeps its own rules: generated files are fresh, modules say what they are for, documents lead somewhere."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from falkirk.ledger.findings import BlockerKind
from falkirk.lift.journal import LOWER
from falkirk.metadata.losses.loss import Outcome
from falkirk.metadata.losses.loss_catalogue import CATALOGUE

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def tracked_files():
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in listing.split("\0") if name]


@pytest.mark.parametrize(
    "tool",
    [
        "generate_configs",
        "generate_messages",
        "document_tables",
        "document_features",
        "document_benchmarks",
        "picture",
    ],
)
def test_what_a_tool_makes_is_fresh(tool):
    command = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_is_called_utils():
    assert [path for path in SOURCES if re.fullmatch(r"utils?|common|helpers?", path.stem)] == []


@pytest.mark.slow
def test_nothing_is_left_to_do_and_no_machine_is_named():
    left = re.compile(rb"\b(TO[D]O|FIX[M]E|XX[X])\b")
    machine = re.compile(rb"/(work|root)/|index[-]url|pypi\.org|repo1?\.maven")
    found = []
    for path in filter(Path.is_file, tracked_files()):
        content = path.read_bytes()
        is_text = path.suffix in {".py", ".md", ".toml", ".java", ".sh", ""}
        if machine.search(content) or (is_text and left.search(content)):
            found.append(path.relative_to(ROOT).as_posix())
    assert found == []


def test_links_between_documents_lead_somewhere():
    documents = [path for path in tracked_files() if path.suffix == ".md" and path.is_file()]
    dead = [
        f"{path.relative_to(ROOT)}: {target}"
        for path in documents
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", path.read_text())
        if not (path.parent / target).exists()
    ]
    assert len(documents) > 10
    assert dead == []


def test_all_sliced_work_is_listed():
    """The first argument of what starts it: a text, a constant of the module, or a text with <something> inside."""
    started = {name for path in SOURCES for name in started_works(ast.parse(path.read_text()))}
    text = (ROOT / "docs/internals/node.md").read_text()
    section = text[text.index("## Sliced work") : text.index("## Floors")]
    listed = {re.sub("<.*?>", "<>", name) for name in re.findall(r"(?m)^\| `([^`]+)` \|", section)}
    assert started - listed == set(), "add a line to the table under Sliced work in docs/internals/node.md"
    assert listed - started == set(), "nothing starts it any more: remove it from docs/internals/node.md"
    assert "snapshot" in started


def started_works(module: ast.Module) -> Iterator[str]:
    constants = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in ([node.target] if isinstance(node, ast.AnnAssign) else node.targets)
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and starts_work(call.func):
            name = call.args[0]
            match constants.get(name.id, name) if isinstance(name, ast.Name) else name:
                case ast.Constant(value=str(text)):
                    yield text
                case ast.JoinedStr(values=values):
                    yield "".join(part.value if isinstance(part, ast.Constant) else "<>" for part in values)
                case ast.Name(id="name"):
                    pass  # passed on by `start_work`, whose calls count
                case other:
                    raise AssertionError(f"what work is {ast.unparse(other)}?")


def starts_work(called: ast.Attribute) -> bool:
    return called.attr == "start_work" or (
        called.attr in {"start", "begin", "begin_last"}
        and ast.unparse(called.value).rpartition(".")[2].strip("_") == "works"
    )


def test_runbooks_have_a_section_for_every_blocker_loss_and_step_of_a_lift():
    def sections(name):
        return re.findall(r"^## `([^`]+)`$", (ROOT / "docs/runbooks" / name).read_text(), re.MULTILINE)

    lifts = "\n".join(path.read_text() for path in (ROOT / "src/falkirk/lift").glob("*.py"))
    lifts = lifts.replace("Step(LOWER", f'Step("{LOWER}"')
    steps = {re.sub(r"{.*}", "N", name) for name in re.findall(r"""\bStep\(\s*f?"([^"]+)""", lifts)}
    assert len(steps) > 5
    assert sorted(sections("lift-failures.md")) == sorted(steps)
    assert sorted(sections("blockers.md")) == sorted(BlockerKind)
    # What only a running cluster loses, and what its groups lose, the catalogue of metadata does not have.
    beside = {"consumer_group", "open_transaction", "group_record", "share_group", "committed_offsets"}
    lost = {rule.kind for rule in CATALOGUE if rule.outcome is Outcome.LOST}
    assert sorted(sections("losses.md")) == sorted(lost | beside), "docs/runbooks/losses.md: a section for each kind"


def test_code_named_in_the_glossary_exists():
    text = (ROOT / "docs/reference/glossary.md").read_text()
    source = "\n".join(path.read_text() for path in SOURCES)
    named = re.findall(r"`([A-Z]\w*[a-z]\w*|[a-z_]+(?:\.[a-z_]+)+)`", text.replace("`ledger.json`", ""))
    packages = {path.name for path in (ROOT / "src/falkirk").iterdir()}
    missing = []
    for name in named:
        first, _, rest = name.removeprefix("falkirk.").partition(".")
        path = ROOT / "src/falkirk" / name.removeprefix("falkirk.").replace(".", "/")
        is_there = (
            path.is_dir() or path.with_suffix(".py").is_file()
            if first in packages and (rest or path.is_dir())
            else name in source
        )
        if not is_there:
            missing.append(name)
    assert len(named) > 10
    assert missing == []


def test_tests_named_in_the_threat_model_exist():
    text = (ROOT / "docs/reference/security.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) > 30
    missing = [f"{path}::{test}" for path, test in named if f"def {test}(" not in (ROOT / path).read_text()]
    assert missing == []


def test_modules_named_in_the_architecture_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*\|(.*)\|$", text, re.MULTILINE)
    assert {package for package, _ in rows} == {
        path.name for path in (ROOT / "src/falkirk").iterdir() if path.is_dir() and "__" not in path.name
    }
    named = [(package, name) for package, files in rows for name in re.findall(r"`([\w/]+\.(?:py|md))`", files)]
    missing = [
        name
        for package, name in named
        if not (ROOT / "src/falkirk" / package / name).exists() and not (ROOT / name).exists()
    ]
    assert missing == []
