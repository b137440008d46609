"""Data Cache Management, NV Cache Management, Procedure Cache Management and Memory Management."""

from collections.abc import Sequence

from ase_simulator.sysmon_report.page import Page
from ase_simulator.sysmon_report.sample import CacheSample, PoolSample, Sample, contention

_NO_WASH = "Statistics Not Available - No Buffers Entered Wash Section Yet"
_NO_STRATEGY = "Statistics Not Available - No Buffers Displaced Yet"
_RESIDENT = "Pages Requested Reside in Another Buffer Pool"
_STATEMENTS = ("Cached", "Found in Cache", "Not Found", "Dropped", "Restored", "Not Cached")
_REASONS = (
    "Table Missing",
    "Temporary Table Missing",
    "Schema Change",
    "Index Change",
    "Isolation Level Change",
    "Permissions Change",
    "Cursor Permissions Change",
)
_PHASES = ("Execution Phase", "Compilation Phase", "Execute Cursor Execution", "Redefinition Phase")


def data_caches(page: Page, sample: Sample) -> None:
    """Data Cache Management: all caches together, then each."""
    searches = sum(_searches(cache) for cache in sample.caches)
    with page.section("Data Cache Management"):
        page.line()
        _summary(page, sample, searches)
        for cache in sample.caches:
            page.line("-" * 79)
            _cache(page, sample, cache, searches)


def _searches(cache: CacheSample) -> int:
    return cache.hits + cache.misses


def _summary(page: Page, sample: Sample, searches: int) -> None:
    caches = sample.caches
    with page.block("Cache Statistics Summary (All Caches)"):
        page.line("  " + "-" * 37)
        page.titles()
        page.line()
        with page.block("Cache Search Summary", 4):
            page.row(6, "Total Cache Hits", sum(cache.hits for cache in caches), searches)
            page.row(6, "Total Cache Misses", sum(cache.misses for cache in caches), searches)
        page.rule()
        page.row(4, "Total Cache Searches", searches, share=False)
        page.line()
        grabbed = sum(pool.grabs for cache in caches for pool in cache.pools)
        with page.block("Cache Turnover", 4):
            page.row(6, "Buffers Grabbed", grabbed)
            dirty = sum(pool.grabbed_dirty for cache in caches for pool in cache.pools)
            page.row(6, "Buffers Grabbed Dirty", dirty, grabbed)
        page.line()
        cached, discarded = sum(cache.cached for cache in caches), sum(cache.discarded for cache in caches)
        with page.block("Cache Strategy Summary", 4):
            page.row(6, "Cached (LRU) Buffers", cached, cached + discarded)
            page.row(6, "Discarded (MRU) Buffers", discarded, cached + discarded)
        page.line()
        _large(page, caches, label="")
        _effectiveness(page, [pool for cache in caches for pool in cache.pools[1:]])
        _prefetch(page, sample)
        with page.block("Dirty Read Behavior", 4):
            page.row(6, "Page Requests", sample.count("dirty_reads"))
        page.line()


def _large(page: Page, caches: Sequence[CacheSample], label: str) -> None:
    """Large I/O use; without any, the summary prints figures without a label."""
    performed = sum(cache.large_performed for cache in caches)
    size = sum(cache.large_denied_size for cache in caches)
    resident = sum(cache.large_denied_resident for cache in caches)
    total = performed + size + resident
    if not total and not label:
        page.line("    Large I/O Usage")
        page.nothing(6, "", name="Large I/O Usage")
        page.line()
        return
    with page.block("Large I/O Usage", 4):
        if not total:
            page.nothing(6, label)
        else:
            page.row(6, "Large I/Os Performed", performed, total)
            page.line()
            with page.block("Large I/Os Denied due to", 6):
                page.row(8, "Pool < Prefetch Size", size, total)
                page.line("        Pages Requested")
                page.line("        Reside in Another")
                page.row(8, "Buffer Pool", resident, total, name=_RESIDENT)
    if total:
        page.rule()
        page.row(4, "Total Large I/O Requests", total, share=False)
    page.line()


def _effectiveness(page: Page, pools: Sequence[PoolSample]) -> None:
    cached, used = sum(pool.pages_cached for pool in pools), sum(pool.pages_used for pool in pools)
    with page.block("Large I/O Effectiveness", 4):
        page.row(6, "Pages by Lrg I/O Cached", cached)
        if cached:
            page.row(6, "Pages by Lrg I/O Used", used, cached)
    page.line()


def _prefetch(page: Page, sample: Sample) -> None:
    denied = [
        (f"APF {name} Overloads", sample.count(f"apf_{name[:2].lower()}"))
        for name in ("I/O", "Limit", "Reused")
    ]
    found = [
        (name, sample.count(f"apf_found_{key}"))
        for name, key in (("With Spinlock Held", "held"), ("W/o Spinlock Held", "free"))
    ]
    issued = sample.count("apf_issued")
    total = issued + sum(count for _, count in [*denied, *found])
    with page.block("Asynchronous Prefetch Activity", 4):
        if not total:
            page.nothing(6, "Total APFs Requested")
        else:
            page.row(6, "APFs Issued", issued, total)
            for block, rows in (("APFs Denied Due To", denied), ("APF Buffers Found in Cache", found)):
                with page.block(block, 6):
                    for label, count in rows:
                        page.row(8, label, count, total)
    if total:
        page.rule()
        page.row(4, "Total APFs Requested", total, share=False)
    page.line()
    with page.block("Other Asynchronous Prefetch Statistics", 4):
        for label in ("APFs Used", "APF Waits for I/O", "APF Discards"):
            page.row(6, label, sample.count("_".join(label.lower().replace("/", "").split())))
    page.line()


def _cache(page: Page, sample: Sample, cache: CacheSample, everything: int) -> None:
    searches = _searches(cache)
    with page.block(f"Cache: {cache.name}"):
        page.titles(rule=4, labelled=True)
        page.percent(4, "Spinlock Contention", contention(cache.spin_grabs, cache.spin_waits))
        page.line()
        page.percent(4, "Utilization", 100.0 * searches / everything if everything else 0.0)
        page.line()
        with page.block("Cache Searches", 4):
            if not searches:
                page.nothing(6, "Total Cache Searches")
            else:
                page.row(6, "Cache Hits", cache.hits, searches)
                with page.block("Cache Hits", show=False):
                    page.row(9, "Found in Wash", cache.found_in_wash, searches)
                page.row(6, "Cache Misses", cache.misses, searches)
        page.rule()
        page.row(4, "Total Cache Searches", searches, share=False)
        page.line()
        _turnover(page, sample, cache)
        _wash(page, cache)
        _large(page, [cache], label="Total Large I/O Requests")
        _large_detail(page, cache)
        with page.block("Dirty Read Behavior", 4):
            page.row(10, "Page Requests", 0)
            page.lines[-1] = "\t" + page.lines[-1][8:]
        page.line()


def _turnover(page: Page, sample: Sample, cache: CacheSample) -> None:
    total = sum(pool.grabs for pool in cache.pools)
    if not total:
        page.nothing(4, "Pool Turnover")
    else:
        with page.block("Pool Turnover", 4):
            for pool in cache.pools:
                with page.block(f"{pool.io_kb} Kb Pool", 6, show=False):
                    page.line(f"      {pool.io_kb:<2} Kb Pool")
                    page.row(10, "LRU Buffer Grab", pool.grabs, total)
                    with page.block("LRU Buffer Grab", show=False):
                        if sample.threaded:
                            page.row(12, "Grabbed Locked Buffer", pool.grabbed_locked, pool.grabs)
                        page.row(12, "Grabbed Dirty", pool.grabbed_dirty, pool.grabs)
        page.rule()
        page.row(4, "Total Cache Turnover", total, share=False)
    page.line()
    if sample.threaded:
        page.line("    Cluster Cache Behavior")
        page.line("      No physical locks are acquired on buffers in this cache")
        page.line()


def _wash(page: Page, cache: CacheSample) -> None:
    washed = cache.passed_clean + cache.in_io + cache.washed_dirty
    with page.block("Buffer Wash Behavior", 4):
        if not washed:
            page.line(f"      {_NO_WASH}")
        else:
            page.row(6, "Buffers Passed Clean", cache.passed_clean, washed)
            page.row(6, "Buffers Already in I/O", cache.in_io, washed)
            page.row(6, "Buffers Washed Dirty", cache.washed_dirty, washed)
    page.line()
    displaced = cache.cached + cache.discarded
    with page.block("Cache Strategy", 4):
        if not displaced:
            page.line(f"      {_NO_STRATEGY}")
        else:
            page.row(6, "Cached (LRU) Buffers", cache.cached, displaced)
            page.row(6, "Discarded (MRU) Buffers", cache.discarded, displaced)
    page.line()


def _large_detail(page: Page, cache: CacheSample) -> None:
    with page.block("Large I/O Detail", 4):
        large = cache.pools[1:]
        if not large:
            page.line("      No Large Pool(s) In This Cache")
        for pool in large:
            with page.block(f"{pool.io_kb} Kb Pool", show=False):
                page.line(f"     {pool.io_kb:<3} Kb Pool")
                page.row(8, "Pages Cached", pool.pages_cached)
                page.row(8, "Pages Used", pool.pages_used, pool.pages_cached or None)
    page.line()


def nv_caches(page: Page, sample: Sample) -> None:
    """NV Cache Management of a server without one: NULLs are printed as blanks."""
    with page.section("NV Cache Management"):
        page.line()
        page.line("  Cache Statistics Summary (All NV Caches)")
        page.line("  " + "-" * 40)
        page.titles()
        page.line()
        for block, rows in (
            (
                "Cache Search Summary",
                ("Total Cache Hits                %", "Total Cache Misses              %"),
            ),
            ("Cache Turnover", ("Buffer Grabs                     n/a", "Failed Buffer Grabs             %")),
        ):
            page.line(f"    {block}")
            for row in rows:
                page.line(f"      {row}")
            page.rule()
            page.line()


def procedures(page: Page, sample: Sample) -> None:
    """Procedure Cache Management, the statement cache included."""
    requests = sample.count("procedure_requests")
    with page.section("Procedure Cache Management", titled=True):
        page.row(2, "Procedure Requests", requests)
        page.row(2, "Procedure Reads from Disk", sample.count("procedure_reads"), requests)
        page.row(2, "Procedure Writes to Disk", sample.count("procedure_writes"), requests)
        page.row(2, "Procedure Removals", sample.count("procedure_removals"))
        recompiled = sample.count("procedure_recompilations")
        page.row(2, "Procedure Recompilations", recompiled)
        page.line()
        if sample.threaded:
            with page.block("Recompilations Requests:"):
                for label in _PHASES:
                    page.row(4, label, recompiled if label == _PHASES[0] else 0, recompiled)
            page.line()
            with page.block("Recompilation Reasons:"):
                for label in _REASONS:
                    page.row(4, label, recompiled if label == _REASONS[0] else 0)
            page.line()
        with page.block("SQL Statement Cache:"):
            for label in _STATEMENTS:
                page.row(
                    4, f"Statements {label}", sample.count("statements_" + "_".join(label.lower().split()))
                )
        page.line()
        page.line()


def memory(page: Page, sample: Sample) -> None:
    """Memory Management."""
    with page.section("Memory Management", titled=True):
        page.row(2, "Pages Allocated", sample.count("pages_allocated"))
        page.row(2, "Pages Released", sample.count("pages_released"))
        page.line()
