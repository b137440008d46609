"""Remedies for hot spinlocks as Markdown, from the advisor's remedies.yaml."""

from pathlib import Path
from typing import Any

from dashboards import thresholds

from ase_exporter.assets import load_yaml

PATH = Path(__file__).parents[1] / "exporter" / "ase_exporter" / "advise" / "remedies.yaml"


def remedies_markdown() -> str:
    """Return what not to do, and a table of spinlocks, what they protect, and the option to change."""
    content = load_yaml(PATH.read_text())
    lines = ["| spinlock | protects | from | remedy |", "| --- | --- | --- | --- |"]
    for remedy in content["remedies"]:
        name = remedy.get("spinlock") or f"class `{remedy['spinlock_class']}`"
        group, parameter = remedy["contention"].split(".")
        limit = thresholds.PARAMETERS[group][parameter]
        lines.append(f"| {name} | {remedy['protects']} | {limit:.0%} | {_fix(remedy)} |")
    cautions = [f"- **{caution.split('. ')[0].rstrip('.')}.**" for caution in content["do_not"]]
    return "\n".join(
        [
            "`ase-exporter advise` computes the values for your server and prints the exact statements.",
            "",
            *cautions,
            "",
            *lines,
        ]
    )


def _fix(remedy: dict[str, Any]) -> str:
    start = " (at the next start)" if remedy.get("static") else ""
    if ratio := remedy.get("ratio"):
        return f"lower `{ratio['option']}`{start}"
    if increase := remedy.get("increase"):
        return f"raise `{increase['option']}`{start}"
    return f"more cache partitions, a named cache for hot tables, relaxed LRU; 16.0 SP02: lockless data cache{start}"
