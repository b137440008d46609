"""Registry of T-SQL functions: arguments, result type, implementation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ase_simulator.results import Type
from ase_simulator.sql.types.rules import Typed, display_length, varchar

Kind = Literal["any", "string", "int", "float", "number", "datetime", "text", "binary"]
TypeRule = Type | Callable[[Sequence[Typed]], Type]


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    least, most: number of arguments; session: the implementation takes the session first.
    """

    name: str
    kinds: Sequence[Kind]
    min_arguments: int
    max_arguments: int
    returns: TypeRule
    run: Callable[..., Any]
    session: bool = False
    pure: bool = True

    def type_of(self, arguments: Sequence[Typed]) -> Type:
        return self.returns(arguments) if callable(self.returns) else self.returns

    def kind_of(self, index: int) -> Kind:
        """The kind of the argument at an index; the last kind applies to all further ones."""
        return self.kinds[min(index, len(self.kinds) - 1)] if self.kinds else "any"


FUNCTIONS: dict[str, Function] = {}


def function(
    name: str,
    *kinds: Kind,
    returns: TypeRule,
    optional: int = 0,
    more: bool = False,
    session: bool = False,
    pure: bool = True,
    strict: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers an implementation.

    optional: how many of the last arguments may be left out; more: any number of them. strict: the value is NULL if one
    of the others is.
    """

    def register(run: Callable[..., Any]) -> Callable[..., Any]:
        required, max_arguments = len(kinds) - optional, 99 if more else len(kinds)
        called = null_of_null(run, int(session), int(session) + required) if strict else run
        FUNCTIONS[name] = Function(
            name, kinds, required, max_arguments, returns, called, session, pure and not session
        )
        return run

    return register


def null_of_null(run: Callable[..., Any], first: int = 0, end: int | None = None) -> Callable[..., Any]:
    """The implementation with NULL for a NULL among its arguments from first to end."""

    def strict(*values: Any) -> Any:
        return None if None in values[first:end] else run(*values)

    return strict


def same(index: int = 0) -> Callable[[Sequence[Typed]], Type]:
    """The type of one of the arguments (a bare NULL counts as int)."""
    return lambda arguments: arguments[index].type or Type("int")


def text_like(arguments: Sequence[Typed]) -> Type:
    """varchar as long as the first argument."""
    type_ = arguments[0].type
    return varchar(display_length(type_)) if type_ else varchar(1)
