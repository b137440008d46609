"""Exceptions by which BREAK, CONTINUE, GOTO and RETURN unwind."""

from ase_simulator.sql.types.values import EngineValue


class LeaveLoop(Exception):  # noqa: N818 - control flow, not an error
    """BREAK, or CONTINUE if again is true."""

    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.again = again


class LeaveTo(Exception):  # noqa: N818 - control flow, not an error
    """GOTO."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label


class LeaveBatch(Exception):  # noqa: N818 - control flow, not an error
    """RETURN, with the status of a procedure or the value of a function."""

    def __init__(self, status: int, value: EngineValue = None) -> None:
        super().__init__()
        self.status = status
        self.value = value
