"""The core stays source that mypyc compiles as Python runs it: what it takes otherwise has no place there.

docs/internals/compiled.md says what each rule is for.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from compile import hot_modules

PACKAGE = Path(__file__).parent.parent / "src/falkirk"
DRIVERS = {"cli", "client", "columnar", "lift", "logdir", "mirror", "operations", "pipeline", "server", "watch"}
CORE = {
    path: ast.parse(path.read_text())
    for path in sorted(PACKAGE.rglob("*.py"))
    if path.relative_to(PACKAGE).parts[0] not in DRIVERS or path.relative_to(PACKAGE.parent).as_posix() in hot_modules()
}


def checked_blocks(module: ast.AST) -> Iterator[ast.stmt]:
    """What stands under `if TYPE_CHECKING`."""
    for node in ast.walk(module):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body


def names_of_checking(module: ast.AST) -> set[str]:
    names = set()
    for statement in checked_blocks(module):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in statement.names}
        elif isinstance(statement, ast.AnnAssign):
            names.add(ast.unparse(statement.target))
    return names


def classes_and_implicit_aliases(module: ast.Module) -> Iterator[ast.AST]:
    """A class there does not exist, and mypyc looks for it; an alias without TypeAlias is a variable to it."""
    for statement in checked_blocks(module):
        is_alias = isinstance(statement, ast.AnnAssign) and ast.unparse(statement.annotation) == "TypeAlias"
        is_type_variable = isinstance(statement, ast.Assign) and ast.unparse(statement.value).startswith("TypeVar(")
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not (isinstance(statement, ast.Import | ast.ImportFrom) or is_alias or is_type_variable or is_docstring):
            yield statement


def unquoted_fields_of_checked_types(module: ast.Module) -> Iterator[ast.AST]:
    """Annotations of a class body are evaluated when it is imported, whatever `from __future__` says.

    The two types of builtins are none to mypyc, which then looks for them in the module.
    """
    absent = names_of_checking(module) | {"memoryview", "object"}
    for node in ast.walk(module):
        for statement in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(statement, ast.AnnAssign) and outermost(statement.annotation) in absent:
                yield statement


def fields_of_absent_classes(module: ast.Module) -> Iterator[ast.AST]:
    """A compiled dataclass loads the classes of its fields when it is imported, quoted or not; of a union nothing."""
    absent = names_of_checking(module) - {"Callable"}
    for node in ast.walk(module):
        if not isinstance(node, ast.ClassDef) or "dataclass" not in map(called, node.decorator_list):
            continue
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign):
                read = statement.annotation
                text = str(read.value) if isinstance(read, ast.Constant) else ast.unparse(read)
                if outermost(ast.parse(text, mode="eval").body) in absent:
                    yield statement


def outermost(annotation: ast.expr) -> str:
    """The class whose arguments the rest is; of a union there is none."""
    while isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return ast.unparse(annotation)


def generic_dataclasses(module: ast.Module) -> Iterator[ast.AST]:
    """They fail when they are imported."""
    for node in ast.walk(module):
        is_generic = isinstance(node, ast.ClassDef) and any(outermost(base) == "Generic" for base in node.bases)
        if is_generic and "dataclass" in map(called, node.decorator_list):
            yield node


def called(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def errors_of_one_name(module: ast.Module) -> Iterator[ast.AST]:
    """The second handler raises TypeError when it is entered: the variable has the type of the first."""
    for function in ast.walk(module):
        if isinstance(function, ast.FunctionDef | ast.Module):
            handlers = [node for node in within(function) if isinstance(node, ast.ExceptHandler) and node.name]
            times = Counter(handler.name for handler in handlers)
            types = {(handler.name, ast.unparse(handler.type)) for handler in handlers if handler.type}
            for handler in handlers:
                if times[handler.name] > 1 and sum(name == handler.name for name, _ in types) > 1:
                    yield handler


def within(scope: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, not in the functions and classes inside it."""
    for node in ast.iter_child_nodes(scope):
        yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            yield from within(node)


EAGER = {"any", "all", "sum", "min", "max", "set", "frozenset", "tuple", "list", "dict", "sorted", "bytes", "Counter"}
EAGER_METHODS = {"join", "union", "update", "extend", "fromkeys", "pack"}


def lazy_expressions(module: ast.Module) -> Iterator[ast.AST]:
    """mypyc makes a list of a generator expression: only what goes through all of it at once may have one."""
    eager = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            function = node.func
            known = function.attr in EAGER_METHODS if isinstance(function, ast.Attribute) else called(node) in EAGER
            if known:
                eager |= {each.value if isinstance(each, ast.Starred) else each for each in node.args}
    yield from (node for node in ast.walk(module) if isinstance(node, ast.GeneratorExp) and node not in eager)


RULES: tuple[tuple[Callable[[ast.Module], Iterator[ast.AST]], str], ...] = (
    (classes_and_implicit_aliases, "if TYPE_CHECKING:\n    A = int | str"),
    (unquoted_fields_of_checked_types, "if TYPE_CHECKING:\n    from a import B\nclass C:\n    b: B[int]"),
    (errors_of_one_name, "try: pass\nexcept KeyError as e: pass\ntry: pass\nexcept OSError as e: pass"),
)


@pytest.mark.slow
@pytest.mark.parametrize(("found", "bad"), RULES)
def test_the_core_has_nothing_that_mypyc_takes_otherwise(found, bad):
    assert list(found(ast.parse(bad))) != [], "the rule finds nothing"
    places = [f"{path.relative_to(PACKAGE)}:{node.lineno}" for path, tree in CORE.items() for node in found(tree)]
    assert places == []


def classes_with_keywords(module: ast.Module) -> Iterator[ast.AST]:
    """They are lost: a Struct would be neither frozen nor without garbage collection."""
    return (node for node in ast.walk(module) if isinstance(node, ast.ClassDef) and node.keywords)


def unions_of_int_and_an_enum_of_ints(module: ast.Module) -> Iterator[ast.AST]:
    """The union is taken for int, and the member of the enum for its number: no `isinstance` finds it any more."""
    for node in ast.walk(module):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            if "int" in names and names & INT_ENUMS:
                yield node


INT_ENUMS = {
    node.name
    for tree in CORE.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef) and any(ast.unparse(base).endswith("IntEnum") for base in node.bases)
}

HOT_RULES: tuple[tuple[Callable[[ast.Module], Iterator[ast.AST]], str], ...] = (
    (lazy_expressions, "next((a for a in b if a), None)"),
    (generic_dataclasses, "@dataclass()\nclass A(Generic[T]): pass"),
    (classes_with_keywords, "class A(Struct, frozen=True): pass"),
    (unions_of_int_and_an_enum_of_ints, "def f() -> int | ErrorCode: pass"),
    (fields_of_absent_classes, 'if TYPE_CHECKING:\n    from a import B\n@dataclass()\nclass C:\n    b: "B[int]"'),
)


@pytest.mark.parametrize(("found", "bad"), HOT_RULES)
def test_compiled_modules_have_nothing_that_mypyc_takes_otherwise(found, bad):
    assert list(found(ast.parse(bad))) != [], "the rule finds nothing"
    hot = [PACKAGE.parent / name for name in hot_modules()]
    assert set(hot) <= set(CORE), "a module that is not there"
    places = [f"{path.relative_to(PACKAGE)}:{node.lineno}" for path in hot for node in found(CORE[path])]
    assert places == []


def closed_classes(modules: Iterable[ast.Module]) -> set[str]:
    """The compiled classes of which no class that is not compiled may be derived; a struct is made by its metaclass.

    A protocol is nothing but its names.
    """
    open_bases = {
        "Protocol",
        "Struct",
        "FrozenStruct",
        "FrozenLeaf",
        "IdentityStruct",
        "NamedTuple",
        "Enum",
        "Exception",
    }
    classes = [node for module in modules for node in module.body if isinstance(node, ast.ClassDef)]
    return {
        node.name
        for node in classes
        if "allow_interpreted_subclasses" not in ast.unparse(node).partition("class ")[0]
        and not open_bases & set(map(outermost, node.bases))
    }


def derived_from(closed: set[str], module: ast.Module) -> Iterator[ast.AST]:
    """TypeError where such a class is made the first time."""
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
    known = closed & {
        alias.name for node in imports if (node.module or "").startswith("falkirk.") for alias in node.names
    }
    for node in ast.walk(module):
        if isinstance(node, ast.ClassDef) and any(outermost(base) in known for base in node.bases):
            yield node


def test_what_is_not_compiled_is_derived_only_from_classes_that_say_so():
    hot = [PACKAGE.parent / name for name in hot_modules()]
    closed = closed_classes(CORE[path] for path in hot)
    bad = ast.parse("from falkirk.node.node import Node\nclass A(Node): pass")
    assert list(derived_from(closed, bad)) != [], "the rule finds nothing"
    places = [
        f"{path}:{node.lineno}"
        for folder in (PACKAGE, PACKAGE.parent.parent / "tests", PACKAGE.parent.parent / "benchmarks")
        for path in folder.rglob("*.py")
        if path not in hot
        for node in derived_from(closed, ast.parse(path.read_text()))
    ]
    assert places == []


def fixed_names(name: str) -> Iterator[str]:
    """What the code of a compiled module uses without a look-up."""
    module = ".".join(Path(name).with_suffix("").parts).removesuffix(".__init__")
    for node in CORE[PACKAGE.parent / name].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield f"{module}.{node.name}"
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith("Final"):
            yield f"{module}.{ast.unparse(node.target)}"


FIXED_NAMES = {each for name in hot_modules() for each in fixed_names(name)}


def replaced_names(module: ast.Module) -> Iterator[ast.AST]:
    """The build goes on with what was replaced."""
    imports = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    marked = [node for node in module.body if isinstance(node, ast.Assign) and "mark.source" in ast.unparse(node)]
    for function in [] if marked else module.body:
        decorators = function.decorator_list if isinstance(function, ast.FunctionDef) else ()
        if any("mark.source" in ast.unparse(each) for each in decorators):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and called(node).rpartition(".")[2] in {"setattr", "patch", "object"}:
                words = [str(each.value) if isinstance(each, ast.Constant) else ast.unparse(each) for each in node.args]
                owner = imports.get(words[0], words[0]) if words else ""
                if {owner, ".".join([owner, *words[1:2]])} & FIXED_NAMES:
                    yield node


@pytest.mark.slow
def test_tests_that_replace_what_is_compiled_say_so():
    bad = ast.parse('from falkirk.node import node\ndef f(patch): patch.setattr(node, "Node", 1)')
    assert list(replaced_names(bad)) != [], "the rule finds nothing"
    places = [
        f"{path}:{node.lineno}"
        for path in Path(__file__).parent.rglob("*.py")
        for node in replaced_names(ast.parse(path.read_text()))
    ]
    assert places == [], "mark them `source`, or take Final from the constant"
