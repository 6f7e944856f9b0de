"""The source keeps its shape: sizes, order within a module, nothing dead, no circle; import-linter has the floors."""

import ast
import re
from collections import Counter, defaultdict
from graphlib import TopologicalSorter

import pytest
from source_tree import Definition, Function, modules, modules_beside, names_in, own_nodes, written_modules

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
RELEASE_NAME = re.compile(r"[2-9]\.\d+(\.\d+)?")

# Definitions that nothing in the package uses, and why they are there.
PYTHON_API = "for programs that use the package"
CALLED_BY_LIBRARY = "called by the library whose interface it is"
UNUSED: dict[str, str] = {
    "falkirk.testing.pytest_plugin.kafka_cluster": CALLED_BY_LIBRARY,
    "falkirk.client.blocking_admin.Admin": PYTHON_API,
    "falkirk.client.groups.blocking.GroupAdmin": PYTHON_API,
    "falkirk.client.groups.blocking.GroupAdmin.find_coordinators": PYTHON_API,
    "falkirk.watch.alarms._NoRedirects.redirect_request": CALLED_BY_LIBRARY,
    "falkirk.pipeline.transforms.client_blockers.client_blockers": PYTHON_API,
    "falkirk.server.peer.Peer.pause_writing": CALLED_BY_LIBRARY,
    "falkirk.server.peer.Peer.resume_writing": CALLED_BY_LIBRARY,
    "falkirk.server.zookeeper_session._DirectHandler.dispatch_callback": CALLED_BY_LIBRARY,
}

# Words with another one in the field: reported, requested, received, reason.
REPLACED_WORDS = re.compile(
    r"(^|_)(un)?(told|asked|who|why|took)(_|$)|(Told|Asked|Took)([A-Z]|$)|^_?takes?(_(in|over|note|first|final|offline))?$"
)
# `take` is Arrow's and numpy's, `why` the name of a column.
KEPT_NAMES = {"take", "why"}

LONG_FUNCTIONS = {
    "protocol/record_scan.py: _scan": "every produced record comes through it; calls would double its time",
}
# The words with which docstrings of a dialect of our own began; the field says Return, Raise, Apply.
DIALECT = re.compile(r"(Give (?!up\b)|Say |Tell (?!the voters)|Take (in|note|over) |Look at |See to )")

PRINTERS = {"print", "sys.stdout.write", "sys.stderr.write"}


@pytest.fixture(scope="module", autouse=True)
def parsed():
    """Parse outside of the tests, whose time is limited."""
    assert len(modules()) > 1000
    for module in (*modules(), *modules_beside()):
        assert module.names.keys() >= set()
        assert module.imported >= set()


def test_every_module_says_what_it_is_for():
    assert [module.path for module in modules() if not ast.get_docstring(module.tree)] == []


def test_modules_are_small():
    assert {module.path: module.lines for module in written_modules() if module.lines > MODULE_LINES_MAX} == {}


def test_functions_fit_on_a_screen():
    long = {
        f"{module.path}: {function.name}": lines
        for module in written_modules()
        for function in module.of(*Function.__args__)
        if (lines := function.end_lineno - function.lineno + 1) > FUNCTION_LINES_MAX
    }
    assert {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS} == {}


def test_no_module_imports_itself_by_way_of_others():
    names = {module.name for module in modules()}
    graph = {
        module.name: {
            found
            for package, name in module.imported
            if (found := f"{package}.{name}" if f"{package}.{name}" in names else package) in names - {module.name}
        }
        for module in modules()
    }
    # Raises CycleError, which names the modules.
    TopologicalSorter(graph).prepare()


def test_nothing_compares_names_of_releases():
    """Only `versions` knows what a release's name means; the others ask what it supports."""
    found = [
        f"{module.path}:{node.lineno}: {ast.unparse(node)}"
        for module in written_modules()
        if not module.path.startswith("versions/")
        for node in module.of(ast.Compare, ast.Call)
        if _names_a_release(node)
    ]
    assert found == []


def _names_a_release(node: ast.Compare | ast.Call) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr in {"index", "parse"} and _has_release(node.args)
    return _has_release([node.left, *node.comparators])


def _has_release(values: list[ast.expr]) -> bool:
    return any(
        isinstance(leaf, ast.Constant) and isinstance(leaf.value, str) and RELEASE_NAME.fullmatch(leaf.value)
        for value in values
        for leaf in (value.elts if isinstance(value, ast.Tuple | ast.Set | ast.List) else [value])
    )


def test_constants_stand_on_top():
    """A constant comes before the first definition, unless it is made of one."""
    found = [
        f"{module.path}:{line} {name}" for module in written_modules() for line, name in _late_constants(module.tree)
    ]
    assert found == []


def _late_constants(tree: ast.Module):
    defined: set[str] = set()
    for node in tree.body:
        if isinstance(node, Definition):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and defined:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if not isinstance(target, ast.Name):
                continue
            if defined & names_in(ast.walk(node)).keys():
                defined.add(target.id)
            else:
                yield node.lineno, target.id


def test_docstrings_begin_as_the_field_writes():
    found = [
        f"{module.path}: {docstring.splitlines()[0]}"
        for module in modules()
        for node in module.of(ast.Module, ast.ClassDef, *Function.__args__)
        if (docstring := ast.get_docstring(node)) and DIALECT.match(docstring)
    ]
    assert found == []


def test_names_are_the_words_of_the_field():
    found = {
        f"{module.path}: {name}"
        for module in written_modules()
        for name in {*module.names, *_defined_anywhere(module)} - KEPT_NAMES
        if REPLACED_WORDS.search(name)
    }
    assert sorted(found) == []


def _defined_anywhere(module):
    for node in module.of(ast.arg, ast.Name, *Definition.__args__):
        yield node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else node.name


def test_one_name_is_bound_to_one_kind_of_error_in_a_function():
    """Compiled, a name has one type: two `except ... as` of one name break there."""
    found = []
    for module in written_modules():
        # Most modules have no two handlers, and need no closer look.
        functions = module.of(*Function.__args__) if len(list(module.of(ast.ExceptHandler))) > 1 else ()
        for function in functions:
            kinds = defaultdict(set)
            for handler in own_nodes(function):
                if isinstance(handler, ast.ExceptHandler) and handler.name:
                    kinds[handler.name].add(ast.unparse(handler.type))
            found += [f"{module.path}: {function.name}: {name}" for name, of in kinds.items() if len(of) > 1]
    assert found == []


def test_no_class_is_defined_for_type_checking_alone():
    found = [
        f"{module.path}: {inner.name}"
        for module in written_modules()
        for branch in module.of(ast.If)
        if "TYPE_CHECKING" in ast.unparse(branch.test)
        for inner in ast.walk(branch)
        if isinstance(inner, ast.ClassDef)
    ]
    assert found == []


@pytest.mark.slow
def test_everything_that_is_defined_is_used():
    """By another place of the package, by a tool, a benchmark or the demo: what only tests call is not a feature."""
    found = set(_unused())
    assert sorted(found - UNUSED.keys()) == []
    assert sorted(UNUSED.keys() - found) == [], "these are used, or gone: take them off the list"


def _unused():
    imported, used = set(), Counter()
    for module in (*modules(), *modules_beside()):
        imported |= module.imported
        used.update(module.names)
    for module in written_modules():
        for node in module.tree.body:
            names = {name for name in _defined(node) if (module.name, name) not in imported and not _is_command(node)}
            yield from (f"{module.name}.{name}" for name in names if _is_alone(name, node, module.names))
            for method in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(method, Function) and _is_alone(method.name, method, used):
                    yield f"{module.name}.{node.name}.{method.name}"


def _is_alone(name: str, node: ast.stmt, used: Counter[str]) -> bool:
    """True if nothing but the definition itself uses a name."""
    # Walking is slow, and what is used often is not used by itself alone.
    return not name.startswith("__") and used[name] < 20 and used[name] <= names_in(ast.walk(node))[name]


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _is_command(node: ast.stmt) -> bool:
    """True for what Typer calls: by its decorator, or as the one function `command` of a module."""
    if not isinstance(node, ast.FunctionDef):
        return False
    return node.name == "command" or any(
        ".command" in text or ".callback" in text for text in map(ast.unparse, node.decorator_list)
    )


def test_what_is_printed_cannot_control_a_terminal():
    """Names come from clients: `print_text`, `print_json` and `printable` write out what would move the cursor."""
    found = [
        f"{module.path}:{call.lineno}"
        for module in modules()
        if module.name != "falkirk.cli.console.terminal"
        for call in module.of(ast.Call)
        if ast.unparse(call.func) in PRINTERS and not (call.args and ast.unparse(call.args[0]).startswith("printable("))
    ]
    assert found == []
