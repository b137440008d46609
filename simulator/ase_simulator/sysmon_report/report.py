"""A whole report: header, the sections in their order, the end line. sections/*.j2 are their layouts."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ase_simulator.sysmon_report.page import RULE, SECTIONS, Page, squeezed
from ase_simulator.sysmon_report.sample import CacheSample, PoolSample, Sample, Thread

if TYPE_CHECKING:
    from jinja2 import Environment

END = "=============================== End of Report ================================= "
_VALUE = 56
_OLD_VALUE = 55


@cache
def _environment() -> "Environment":
    # Imported here: a server of which nobody asks a report does without Jinja2.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("sections")),
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        autoescape=False,
    )
    environment.filters |= {"squeezed": squeezed, "before": lambda text, end: text.removesuffix(end).rstrip()}
    return environment


def write(sample: Sample, section: str | None = None) -> Page:
    """A report of all sections, or of one."""
    page = Page(sample.elapsed_ms, sample.transactions)
    names = _names(page, sample)
    modules = {
        name: _environment().get_template(f"{name}.j2").make_module(names) for name in {*SECTIONS.values()}
    }
    page.add(_environment().get_template("header.j2").render(names))
    for keyword, module in SECTIONS.items():
        belongs = keyword in (section or keyword, "nvcache" if section == "dcache" else None)
        if belongs and (sample.sixteen or keyword != "nvcache"):
            page.add(getattr(modules[module], keyword)())
    page.add(END)
    return page


def _names(page: Page, sample: Sample) -> dict[str, Any]:
    """What the templates know: the sample as `s`, the methods of the page, and some arithmetic."""

    def counter(prefix: str, label: str, logging: str = "") -> int:
        """The counter behind a row: ('insert', 'Data Only Lock Table') -> insert_data_only_lock_table."""
        words = f"{prefix} {'minimal ' if logging.startswith('Minimally') else ''}{label}".lower()
        return sample.count("_".join("".join(c if c.isalnum() else " " for c in words).split()))

    def outcomes(kinds: Iterable[tuple[str, str, str]], *names: str) -> int:
        return sum(sample.count(f"{prefix}_{name}") for _, _, prefix in kinds for name in names)

    def os_shares(thread: Thread) -> list[float]:
        elapsed = sample.elapsed_ms or 1
        user, system = 100.0 * thread.user_ms / elapsed, 100.0 * thread.system_ms / elapsed
        return [user, system, max(100.0 - user - system, 0.0)]

    width = _VALUE if sample.threaded else _OLD_VALUE
    methods = (
        page.section, page.block, page.table, page.titles, page.rule, page.row, page.gauge, page.percent,
        page.nothing, page.figures, page.unsigned_share, page.record,
    )  # fmt: skip
    helpers = (counter, outcomes, os_shares, _pools, _shares, _sums, _means, _contention)
    return {
        **{each.__name__.lstrip("_"): each for each in (*methods, *helpers)},
        "s": sample,
        "RULE": RULE,
        "pieces": [
            sample.version[start : start + width] for start in range(0, max(len(sample.version), 1), width)
        ],
        "count": sample.count,
        "seconds": page.seconds,
        "rounded": round,
        "engine_counts": lambda name: [(f"Engine {e.number}", getattr(e, name)) for e in sample.engines],
        "all_pools": lambda caches: _buffer_pools(caches, 0),
        "large_pools": lambda caches: _buffer_pools(caches, 1),
    }


def _pools(members: Iterable[Any]) -> list[tuple[str, list[Any]]]:
    """Engines or threads by their thread pool."""
    ordered = sorted(members, key=lambda each: (each.pool, each.number))
    return [(name, list(group)) for name, group in groupby(ordered, key=lambda each: each.pool)]


def _buffer_pools(caches: Iterable[CacheSample], first: int) -> list[PoolSample]:
    return [pool for cache in caches for pool in cache.pools[first:]]


def _shares(*ticks: int) -> list[float]:
    total = sum(ticks) or 1
    return [100.0 * value / total for value in ticks]


def _sums(rows: Sequence[Sequence[float]]) -> list[float]:
    return [sum(column) for column in zip(*rows, strict=True)] or [0.0] * 3


def _means(rows: Sequence[Sequence[float]], members: int) -> list[float]:
    return [value / max(members, 1) for value in _sums(rows)]


def _contention(spinlock: tuple[int, int]) -> float:
    """Waits per grab in percent, as every contention row has it; 0 without grabs. spinlock: (grabs, waits)."""
    grabs, waits = spinlock
    return 100.0 * waits / grabs if grabs else 0.0
