"""Remedies for hot spinlocks as Markdown, as the advisor has them."""

from ase_exporter.advise.remedies import Remedy, remedies


def remedies_markdown() -> str:
    """Return what not to do, and a table of spinlocks, what they protect, and the option to change."""
    lines = ["| spinlock | protects | from | remedy |", "| --- | --- | --- | --- |"]
    for remedy in remedies().remedies:
        name = remedy.spinlock or f"class `{remedy.spinlock_class}`"
        lines.append(f"| {name} | {remedy.protects} | {remedy.limit:.0%} | {_fix(remedy)} |")
    cautions = [f"- **{caution.split('. ')[0].rstrip('.')}.**" for caution in remedies().do_not]
    return "\n".join(
        [
            "`ase-exporter advise` computes the values for your server and prints the exact statements.",
            "",
            *cautions,
            "",
            *lines,
        ]
    )


def _fix(remedy: Remedy) -> str:
    start = " (at the next start)" if remedy.static else ""
    if remedy.ratio:
        return f"lower `{remedy.ratio.option}`{start}"
    if remedy.increase:
        return f"raise `{remedy.increase.option}`{start}"
    return f"more cache partitions, a named cache for hot tables, relaxed LRU; 16.0 SP02: lockless data cache{start}"
