"""Exceptions by which BREAK, CONTINUE and RETURN unwind."""


class LeaveLoop(Exception):  # noqa: N818 - control flow, not an error
    """BREAK, or CONTINUE if again is true."""

    def __init__(self, *, again: bool) -> None:
        super().__init__()
        self.again = again


class LeaveBatch(Exception):  # noqa: N818 - control flow, not an error
    """RETURN, with the status of a procedure."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status
