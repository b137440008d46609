"""ASE 16.1, or any server newer than the catalogue: what is unknown is reported by its name, and kept in captures."""

from dataclasses import replace
from pathlib import Path

from tests.exporter.capture.recorded import FOLDER, RecordedServer, check_of, loaded, replay
from tests.exporter.capture.test_command import environment
from tests.exporter.commands.command_line import Run
from tests.exporter.simulated import PASSWORD

from ase_exporter.capture.file import Capture, Execution, dump, load
from ase_exporter.catalogue.facts import COLUMNS, PROXY_COLUMNS, SERVER
from ase_simulator.replay.file import read_capture

BANNER = "Adaptive Server Enterprise/16.1 SP01 PL01/EBF 30000 SMP/P/x86_64"
UNKNOWN = [["monEngine", "QuantumLeaps", "bigint"], ["monFlux", "Capacitors", "int"]]


def newer() -> Capture:
    """The capture of a 16.0 SP04, as a 16.1 with a column and a table more would give it."""

    def altered(each: Execution) -> Execution:
        rows = list(each.rows)
        if each.sql == SERVER:
            rows = [[BANNER, *rows[0][1:]]]
        elif each.sql.startswith(COLUMNS):
            rows += UNKNOWN
        elif each.sql == PROXY_COLUMNS:
            rows += [row[:2] for row in UNKNOWN]
        else:
            return each
        (result,) = each.results
        return replace(each, results=[replace(result, rows=rows)])

    taken = loaded(FOLDER / "16.0-sp04-idle-sa.capture.gz")
    return replace(taken, statements=list(map(altered, taken.statements)))


def test_columns_and_tables_that_are_unknown_are_listed_by_check_and_kept_in_a_capture(
    run: Run, tmp_path: Path
) -> None:
    file, again = tmp_path / "newer.capture.gz", tmp_path / "again.capture.gz"
    file.write_bytes(dump(newer()))
    with replay(read_capture(file)) as (_, port):
        checked = run("check", **environment(port, PASSWORD))
        taken = run("capture", f"--output={again}", "--scrapes=1", **environment(port, PASSWORD))
    assert "ASE 16.1 SP01 PL01" in checked.stdout
    assert "2 columns that this exporter does not know" in checked.stdout
    assert "  monEngine: QuantumLeaps\n  monFlux: Capacitors\n" in checked.stdout
    assert taken.returncode == 0, taken.stderr
    kept = check_of(RecordedServer(load(again).statements)).report()
    assert kept.unknown == {"monEngine": ("QuantumLeaps",), "monFlux": ("Capacitors",)}
