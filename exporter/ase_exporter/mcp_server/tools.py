"""The tools: name, function, arguments and answer. The function's docstring is what an assistant reads."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp import types
from pydantic import ValidationError

from ase_exporter.errors import UserError
from ase_exporter.mcp_server import alerting, diagnosing, history, inputs, overview, querying, sysmon_files
from ase_exporter.mcp_server.answers import (
    Advised,
    Answer,
    Compared,
    Diagnosed,
    FoundAlerts,
    FoundChanges,
    Queried,
    Servers,
    Spinlocks,
    SysmonAnswer,
)
from ase_exporter.mcp_server.sources import Sources

# An unknown argument's name is the caller's text.
_MAX_PLACE = 60


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. run: takes the sources and valid arguments, returns an `answer`, raises UserError."""

    run: Callable[[Sources, Any], Answer]
    arguments: type[inputs.Arguments]
    answer: type[Answer]

    @property
    def name(self) -> str:
        """The name by which it is called."""
        return self.run.__name__

    def described(self) -> types.Tool:
        """The tool as the protocol lists it."""
        return types.Tool(
            name=self.name,
            description=inspect.getdoc(self.run),
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.answer.model_json_schema(mode="serialization"),
            annotations=types.ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        )

    def call(self, sources: Sources, arguments: object) -> Answer:
        """Check the arguments and run. Raises UserError with one line."""
        try:
            valid = self.arguments.model_validate({} if arguments is None else arguments)
        except ValidationError as error:
            raise UserError(f"{self.name}: {_one_line(error)}") from None
        try:
            return self.run(sources, valid)
        except UserError as error:
            # The functions behind the tools are those of commands, whose errors name options.
            raise UserError(f"{self.name}: {str(error).removeprefix('--')}") from error


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(overview.servers, inputs.Arguments, Servers),
        Tool(diagnosing.diagnose, inputs.Window, Diagnosed),
        Tool(overview.hot_spinlocks, inputs.HotSpinlocks, Spinlocks),
        Tool(history.changes, inputs.Changes, FoundChanges),
        Tool(history.compare, inputs.Compare, Compared),
        Tool(overview.advise, inputs.Window, Advised),
        Tool(alerting.alerts, inputs.Alerts, FoundAlerts),
        Tool(querying.query, inputs.Query, Queried),
        Tool(sysmon_files.sysmon_report, inputs.SysmonReport, SysmonAnswer),
    )
}


def _one_line(error: ValidationError) -> str:
    """The first problem of arguments: where, and what was expected. It does not repeat the value."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    shown = place.encode("ascii", "replace").decode() if place.isprintable() else ascii(place)
    return f"{shown[:_MAX_PLACE]}: {first['msg']}" if place else first["msg"]
