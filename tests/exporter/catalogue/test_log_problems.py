"""Messages of the error log are known by their text, in any case, and by number and names in any language."""

import pytest

from ase_exporter.catalogue.labels import log_problem, log_problems

TEMPORARY = frozenset({"tempdb", "saptempdb", "app_tempdb1", "work.area"})
NO_SPACE = {
    "English": "Can't allocate space for object '{}' in database '{}' because '{}' segment is full",
    "French": "Impossible d'allouer de l'espace pour l'objet '{}' dans la base '{}' car le segment '{}' est plein",
    "French quotes": "Impossible d'allouer de l'espace pour « {} » dans « {} » car le segment « {} » est plein",
    "German": "Für das Objekt '{}' in der Datenbank '{}' kann im Segment '{}' kein Speicherplatz reserviert werden",
    "Chinese": "无法为数据库“{1}”中的对象“{0}”分配空间，因为段“{2}”已满",
    "Japanese": "データベース '{1}' のオブジェクト '{0}' に領域を割り付けできません。'{2}' セグメント",
}
TEXTS = {
    "infected": [
        "current process (0x1f090038) infected with 11",
        "Current process (0x2bad014c) infected with signal 11 (SIGSEGV)",
        "FATAL UNHANDLED EXCEPTION: signal 0 hit while handling a previously hit signal. The server cannot continue.",
    ],
    "time_slice": [
        "timeslice -1501, current process infected at 0x8c1f3d4",
        "timeslice error: spid 42 exhausted its 'time slice' of 100 milliseconds and additional 'cpu grace time'",
    ],
    "stack_trace": ["end of stack trace, spid 308, kpid 732758348, suid 1"],
    "recovery_failed": [
        "WARNING: Database 'ORD' has been marked SUSPECT",
        "Database 'ORD' (dbid 7): Recovery failed.",
        "Database 'ORD' cannot be opened. An earlier attempt at recovery marked it 'suspect'.",
        "Database 'ORD' cannot be opened - it has been marked SUSPECT by recover process.",
    ],
    "io_error": [
        "sddone: write error on virtual disk 7 block 3341:",
        "sddone: read error on virtual disk 2 block 12:",
        "Buffer 0x23d4, Page 113: device 7 error",
        "Operating system error: 28 No space left on device",
    ],
    "licence": [
        "SySAM: WARNING: ASE functionality that requires the ASE_CORE license will be disabled on Jan  1"
    ],
    "threshold_procedure": [
        "Stored procedure 'sp_thresholdaction' not found. Specify owner.objectname",
        "Procédure « sp_thresholdaction » introuvable",
    ],
    "log_full": ["There is no space available in SYSLOGS for process 1 to log a record"],
    "other": [
        "Cannot send, host process disconnected: appsrv 37876 spid: 293",
        "The configuration option 'auditing' has been changed by 'sa' from '0' to '1'.",
        "ueshutdown: exiting",
        "engine 3, os pid 4711  online",
        "Attempt to fetch logical page 24 in database 'ORD' failed. It belongs to object 'syslogs'.",
    ],
}


@pytest.mark.parametrize("change", [str, str.upper, str.lower, str.title], ids=lambda each: each.__name__)
@pytest.mark.parametrize(
    ("problem", "text"), [(name, text) for name, texts in TEXTS.items() for text in texts]
)
def test_texts_are_known_in_any_case(problem: str, text: str, change: type[str]) -> None:
    assert log_problem(0, change(text), TEMPORARY) == problem


@pytest.mark.parametrize("language", NO_SPACE)
@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("syslogs", "ORD", "logsegment"), "log_full"),
        (("#t", "tempdb", "system"), "tempdb_full"),
        (("temp worktable", "saptempdb", "system"), "tempdb_full"),
        (("#t", "app_tempdb1", "default"), "tempdb_full"),
        (("x", "work.area", "default"), "tempdb_full"),
        (("syslogs", "app_tempdb1", "logsegment"), "log_full"),
        (("trade", "orders", "default"), "segment_full"),
        # No temporary databases, by what the server says, whatever their names begin with.
        (("trade", "tempdb_archive", "default"), "segment_full"),
        (("trade", "workXarea", "default"), "segment_full"),
    ],
)
def test_a_full_segment_is_known_in_any_language(language: str, names: tuple[str, ...], problem: str) -> None:
    text = NO_SPACE[language].format(*names)
    assert log_problem(1105, text, TEMPORARY) == problem
    if language == "English":
        assert log_problem(0, text, TEMPORARY) == problem


def test_every_line_of_the_file_has_a_problem_and_a_class() -> None:
    assert {each["who"] for each in log_problems()} == {"page", "ticket"}
    classes = {(each["problem"], each["who"]) for each in log_problems()}
    assert len(classes) == len({problem for problem, _ in classes})
    assert all(each["pattern"] or each["number"] for each in log_problems())
