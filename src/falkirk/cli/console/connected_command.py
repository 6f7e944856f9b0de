"""Commands with connection options; `features` has them before the command's name, too, as kafka-features."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from falkirk.cli.console.options import (
    BootstrapControllerOption,
    BootstrapServerOption,
    CommandConfigOption,
    ConnectionOptions,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import typer

# Names of the fields of ConnectionOptions.
_OPTIONS: Final = {
    "bootstrap_server": BootstrapServerOption,
    "bootstrap_controller": BootstrapControllerOption,
    "command_config": CommandConfigOption,
}


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Add the connection options to a command; `context.obj` becomes a pair of the group's one and these options."""

    @wraps(command)
    def call(context: typer.Context, **options: Any) -> None:  # Any: what the command has options for
        after = ConnectionOptions(**{name: options.pop(name) for name in _OPTIONS})
        context.obj = (context.obj, after)
        command(context, **options)

    signature = inspect.signature(command, eval_str=True)
    added = (
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in _OPTIONS.items()
    )
    # Typer makes a command's options of these.
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    call.__annotations__ = command.__annotations__ | _OPTIONS
    return call
