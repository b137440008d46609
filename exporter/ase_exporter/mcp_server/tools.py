"""The tools: a function each. Its name, docstring and types are what an assistant reads."""

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from mcp import types
from pydantic import ValidationError

from ase_exporter.config.yaml_files import expectation
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import answers, inputs
from ase_exporter.mcp_server.answers import Answer
from ase_exporter.mcp_server.privacy import encoded
from ase_exporter.mcp_server.sources import Sources

# An unknown argument's name is the caller's text.
_MAX_PLACE = 60


class Tool:
    """One tool. run: takes the sources and valid arguments, returns an answer, raises UserError."""

    def __init__(self, run: Callable[[Sources, Any], Answer]) -> None:
        self.run = run
        self.name = run.__name__
        self.arguments: type[inputs.Arguments] = get_type_hints(run)["arguments"]

    def described(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            description=inspect.getdoc(self.run),
            input_schema=self.arguments.model_json_schema(),
            annotations=types.ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )

    def call(self, sources: Sources, arguments: object) -> Answer:
        """Check the arguments and run; the answer as it leaves. Raises UserError with one line."""
        try:
            valid = self.arguments.model_validate({} if arguments is None else arguments)
        except ValidationError as error:
            raise UserError(f"{self.name}: {_one_line(error)}") from None
        try:
            return encoded(self.run(sources, valid))
        except UserError as error:
            # The functions behind the tools are those of commands, whose errors name options.
            raise UserError(f"{self.name}: {str(error).removeprefix('--')}") from error


TOOLS = {
    run.__name__: Tool(run)
    for run in (
        answers.servers,
        answers.diagnose,
        answers.sessions,
        answers.changes,
        answers.compare,
        answers.advise,
    )
}


def _one_line(error: ValidationError) -> str:
    """The first problem of arguments: where, and what was expected. It does not repeat the value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    shown = place.encode("ascii", "replace").decode() if place.isprintable() else ascii(place)
    return f"{shown[:_MAX_PLACE]}: {expectation(first)}" if place else expectation(first)
