"""AdviceStep: statements to run, why, and what to know before."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AdviceStep:
    """One thing to do.

    statements: SQL to run unchanged, each in a batch of its own. why: the arithmetic. predicted: contention
    afterwards (0-1), or None if it cannot be predicted. restart: the step takes effect at the next start of the
    server. warnings: what to know before running the statements.
    """

    statements: tuple[str, ...]
    why: str
    predicted: float | None = None
    restart: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def downtime(self) -> bool:
        """Whether it needs a restart or single-user mode."""
        return self.restart or any("single user" in statement for statement in self.statements)


def size_text(count: float) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count:,.0f} bytes"
