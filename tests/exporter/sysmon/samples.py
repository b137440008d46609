"""Reports written by hand, in the layouts of several versions."""

RULE = "=" * 79 + " "
UNDERLINE = "  -------------------------  ------------  ------------  ----------  ---------- "
END = "=============================== End of Report ================================= "
TITLES = "per sec      per xact       count  % of total"


def report(*sections: str, header: str | None = None, end: str = END) -> str:
    """A whole report of these sections."""
    return "\n".join([HEADER if header is None else header, *sections, end, ""])


def section(name: str, *lines: str) -> str:
    """One section; its body as given."""
    return "\n".join([name, "-" * len(name), " ", *lines, " ", RULE, " "])


def table(name: str, *lines: str) -> str:
    """A table with the usual four columns."""
    return "\n".join([f"  {name:<32}{TITLES}", UNDERLINE, *lines, " "])


def row(label: str, per_sec: object, per_xact: object, count: object, percent: object = "n/a") -> str:
    """One row of the usual four columns; label with its indentation."""
    share = f"{percent:>5} %" if percent != "n/a" else "  n/a"
    return f"{label:<29}{per_sec:>12}  {per_xact:>12}  {count:>10}  {share:>10}"


HEADER = "\n".join(
    [
        RULE,
        "      Sybase Adaptive Server Enterprise System Performance Report",
        RULE,
        " ",
        "Server Version:        Adaptive Server Enterprise/16.0 SP03 PL02/EBF 27413 SMP/",
        "                       P/x86_64/Enterprise Linux/ase160sp03pl02/3024/64-bit/FBO",
        "                       /Thu Mar 22 01:00:00 2018",
        "Run Date:              Nov 03, 2025",
        "Sampling Started at:   Nov 03, 2025 09:00:00",
        "Sampling Ended at:     Nov 03, 2025 09:01:00",
        "Sample Interval:       00:01:00",
        "Sample Mode:           No Clear",
        "Counters Last Cleared: Nov 01, 2025 00:00:00",
        "Server Name:           PROD_DS",
        RULE,
        " ",
    ]
)

TRANSACTIONS = section(
    "Transaction Profile", table("Transaction Summary", row("    Committed Xacts", "1200.0", "n/a", 72000))
)

ENGINES = "\n".join(
    [
        "  Engine Utilization (Tick %)   User Busy   System Busy    I/O Busy        Idle",
        UNDERLINE,
        "  ThreadPool : syb_default_pool",
        "   Engine 0                        60.0 %         5.0 %       1.0 %      34.0 %",
        "   Engine 1                        40.0 %         3.0 %       1.0 %      56.0 %",
        UNDERLINE,
        "  Pool Summary        Total       100.0 %         8.0 %       2.0 %      90.0 %",
        "                    Average        50.0 %         4.0 %       1.0 %      45.0 %",
        " ",
        UNDERLINE,
        "  Server Summary      Total       100.0 %         8.0 %       2.0 %      90.0 %",
        "                    Average        50.0 %         4.0 %       1.0 %      45.0 %",
        " ",
        "  Adaptive Server threads are consuming 1.1 CPU units.",
        "  Throughput (committed xacts per CPU unit) : 1090.9",
        " ",
    ]
)


def cache(name: str, *lines: str, contention: str = "1.5 %") -> str:
    """One cache of the data cache section."""
    titles = f"{'':<34}{TITLES}"
    head = f"    {'Spinlock Contention':<25}{'n/a':>12}  {'n/a':>12}  {'n/a':>10}  {contention:>10}"
    return "\n".join(["-" * 79, f"  Cache: {name}", titles, UNDERLINE, head, " ", *lines])
