"""Top reads what it shows, and what the diagnosis needs; whatever tables.yaml names exists."""

import re
from pathlib import Path

import pytest

from ase_exporter.catalogue import load_catalogue
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.errors import UserError
from ase_exporter.readings import live
from ase_exporter.top import figures, tables, view


def read() -> set[str]:
    """The metrics of the collectors that top reads."""
    shipped, _ = load_catalogue()
    assert live.COLLECTORS.keys() <= shipped.collectors.keys()
    return {metric for name in live.COLLECTORS for metric in shipped.collectors[name].metrics}


def test_every_metric_that_is_shown_is_read() -> None:
    shown = {
        selection.metric
        for table in tables.tables().values()
        for figure in table.figures.values()
        for selection in figure.selections
    }
    shown |= set(re.findall(r'"(ase_\w+?)"', Path(figures.__file__).read_text())) - {"ase_engine"}
    assert len(shown) > 20 and shown <= read()


def test_everything_that_the_diagnosis_needs_is_read() -> None:
    """But for what has too many rows to be read that often, and names or proves what is found without it."""
    needed = {each.metric for measure in catalogue().measures.values() for each in measure.selections}
    assert needed - read() == {
        "ase_up",
        "ase_process_cpu_seconds_total",
        "ase_process_locks",
        "ase_object_logical_reads_total",
    }


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("[Hits, hits, ratio]", "[Hits, hit, ratio]", "caches.*`hit` is no figure of its rows"),
        ("order: [seconds]", "order: [second]", "waits.*`second` is no figure of its rows"),
        ("key: [database, use]", "key: [database, usage]", "space.*`usage` is no figure of its rows"),
        (
            "[CPU, cpu, ratio]",
            "[CPU, cpu, rate]",
            "spinlocks.columns.1.2: expected '', 'words'.*'ratio'",
        ),
        ("measure: busiest_engine", "measure: busy_engine", "engines.*busy_engine: no such measure"),
        ("session.program]", "session.programme]", "blocking: `session.programme` is no attribute"),
        ("figures.cpu_busy", "figures.busy", "servers: `figures.busy` is no attribute of its rows"),
        ("each elapsed", "each lapsed", "statements: `each lapsed` is no attribute of its rows"),
        ("[Change, brief]", "[Change, briefly]", "changes: `briefly` is no attribute of its rows"),
    ],
)
def test_a_table_that_names_what_no_row_has_is_one_line(
    right: str, wrong: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tables.FILE.read_text()
    assert content.count(right) == 1
    file = tmp_path / "tables.yaml"
    file.write_text(content.replace(right, wrong))
    monkeypatch.setattr(tables, "FILE", file)
    monkeypatch.setattr(view, "tables", tables.tables.__wrapped__)
    with pytest.raises(UserError, match=said) as caught:
        view.check_columns()
    assert "\n" not in str(caught.value)
