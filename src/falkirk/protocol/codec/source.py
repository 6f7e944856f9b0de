"""Python source being written: lines with indentation, fresh names, and the constants that the code refers to."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# struct format character and size of each fixed-width type.
FIXED: Final[dict[str, tuple[str, int]]] = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}


class Source:
    """Collects the body of one function and compiles it."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 1
        self._names = 0
        self.constants: dict[str, Any] = {}  # Any: whatever the code needs
        self._constant_names: dict[tuple[str, int], str] = {}

    def line(self, text: str) -> None:
        """Add one line at the current indentation."""
        self.lines.append("    " * self._depth + text)

    def first_line(self, text: str) -> None:
        """Put a line before all others."""
        self.lines.insert(0, "    " + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that ends in a colon and indent what follows."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def name(self, stem: str = "v") -> str:
        """Make up a local name."""
        self._names += 1
        return f"{stem}{self._names}"

    def constant(self, value: Any, stem: str) -> str:  # Any: whatever the code needs
        """Return the global name under which the code uses `value`."""
        name = self._constant_names.get((stem, id(value)))
        if name is None:
            name = f"{stem}_{len(self.constants)}"
            self.constants[name] = value
            self._constant_names[stem, id(value)] = name
        return name

    def compile(self, head: str, title: str, namespace: dict[str, Any]) -> Callable[..., Any]:  # Any: made by exec
        """Compile `head` and the lines into a function; `title` stands in tracebacks."""
        text = "\n".join([head, *self.lines])
        scope = {**namespace, **self.constants}
        exec(compile(text, f"<codec {title}>", "exec"), scope)
        function: Callable[..., Any] = scope[head.removeprefix("def ").partition("(")[0]]
        return function
