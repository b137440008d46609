"""ScrapeSummary: the facts of a scrape that leave the worker beside the metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class ScrapeSummary:
    """Travels as one object from the scrape through the worker's reply to the landing page.

    up: the server answered at least one statement. error: why the target, not just a collector, failed.
    version: of the server, '' if unknown. series: number of samples exposed. stretched: number of collectors
    that are read less often to keep the budget. unreadable: collectors that
    a role or an option of the server would enable.
    """

    up: bool = False
    error: str = ""
    version: str = ""
    series: int = 0
    stretched: int = 0
    unreadable: tuple[str, ...] = ()
