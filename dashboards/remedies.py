"""What to do about a hot spinlock, as Markdown out of the advisor's remedies."""

from pathlib import Path
from typing import Any

import yaml

PATH = Path(__file__).parents[1] / "exporter" / "ase_exporter" / "advise" / "remedies.yaml"


def what_to_do() -> str:
    """A table of spinlocks, what they guard and the option that eases them; then what not to do."""
    content = yaml.safe_load(PATH.read_text())
    lines = ["| spinlock | guards | from | what eases it |", "| --- | --- | --- | --- |"]
    for remedy in content["remedies"]:
        name = remedy.get("spinlock") or f"class `{remedy['class']}`"
        lines.append(f"| {name} | {remedy['guards']} | {remedy['contention']:.0%} | {_cure(remedy)} |")
    cautions = [f"- **{caution.split('. ')[0].rstrip('.')}.**" for caution in content["do_not"]]
    return "\n".join(
        [
            "`ase-exporter advise` does the arithmetic for your server and prints the exact statements.",
            "",
            *cautions,
            "",
            *lines,
        ]
    )


def _cure(remedy: dict[str, Any]) -> str:
    start = " (at the next start)" if remedy["static"] else ""
    if ratio := remedy.get("ratio"):
        return f"lower `{ratio['option']}`{start}"
    if grow := remedy.get("grow"):
        return f"raise `{grow['option']}`{start}"
    return f"more cache partitions, a named cache for hot tables, relaxed LRU; 16.0 SP02: lockless data cache{start}"
