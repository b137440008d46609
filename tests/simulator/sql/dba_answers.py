"""Answers to monitoring queries, worked out from the model in plain Python."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from decimal import ROUND_DOWN, Decimal
from typing import Any

Row = dict[str, Any]
Tables = Callable[[str], list[Row]]
Expected = Callable[[Tables], Iterable[tuple[Any, ...]]]


def cut(value: float | Decimal, places: int) -> Decimal:
    return Decimal(repr(value) if isinstance(value, float) else value).quantize(
        Decimal(1).scaleb(-places), ROUND_DOWN
    )


def sums(rows: Iterable[Row], key: str, *columns: str) -> dict[Any, list[int]]:
    found: dict[Any, list[int]] = defaultdict(lambda: [0] * len(columns))
    for row in rows:
        for place, column in enumerate(columns):
            found[row[key]][place] += row[column]
    return found


def database(t: Tables, number: int) -> str:
    return next(str(row["name"]) for row in t("sysdatabases") if row["dbid"] == number)


def wait_names(t: Tables) -> dict[int, str]:
    return {row["WaitEventID"]: row["Description"] for row in t("monWaitEventInfo")}


def spinlock_contention(t: Tables) -> list[tuple[Any, ...]]:
    found = sums(t("monSpinlockActivity"), "SpinlockName", "Grabs", "Spins", "Waits")
    rows = [(name, g, s, w, cut(Decimal(w * 100) / g, 4), s // w) for name, (g, s, w) in found.items() if w]
    return sorted(rows, key=lambda row: (-row[3], row[0]))


def blocking_chains(t: Tables) -> list[tuple[Any, ...]]:
    processes = {row["spid"]: row for row in t("sysprocesses")}
    return sorted(
        (row["spid"], row["blocked"], "trader", row["time_blocked"])
        for row in processes.values()
        if row["blocked"]
    )


def chain_heads(t: Tables) -> list[tuple[Any, ...]]:
    rows = t("sysprocesses")
    blockers = {row["blocked"] for row in rows if row["blocked"]}
    return sorted((row["spid"],) for row in rows if row["spid"] in blockers and not row["blocked"])


def space(t: Tables) -> list[tuple[Any, ...]]:
    pages: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in t("sysusages"):
        totals = pages[database(t, row["dbid"])]
        log = row["segmap"] == 4
        totals[0] += 0 if log else row["size"]
        totals[1] += row["size"] if log else 0
        totals[2] += row["unreservedpgs"]
    return sorted((name, data // 256, log // 256, free // 256) for name, (data, log, free) in pages.items())


def waits_by_class(t: Tables) -> list[tuple[Any, ...]]:
    classes = {row["WaitClassID"]: row["Description"] for row in t("monWaitClassInfo")}
    class_of = {row["WaitEventID"]: row["WaitClassID"] for row in t("monWaitEventInfo")}
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in t("monSysWaits"):
        if row["WaitEventID"] in class_of:
            total = totals[classes[class_of[row["WaitEventID"]]]]
            total[0] += row["Waits"]
            total[1] += row["WaitTime"]
    return sorted(((name, w, s) for name, (w, s) in totals.items() if s), key=lambda row: (-row[2], row[0]))


def never_used_indexes(t: Tables) -> list[tuple[Any, ...]]:
    return sorted(
        (row["ObjectName"], row["IndexID"])
        for row in t("monOpenObjectActivity")
        if row["IndexID"] > 0 and not row["UsedCount"]
    )


def who(t: Tables) -> list[tuple[Any, ...]]:
    logins = {row["suid"]: row["name"] for row in t("syslogins")}
    return sorted(
        (row["spid"], logins.get(row["suid"]), database(t, row["dbid"]), row["status"].ljust(12), row["cmd"])
        for row in t("sysprocesses")
        if row["suid"] > 0
    )


def lock_holders(t: Tables) -> list[tuple[Any, ...]]:
    counts: dict[tuple[int, str], int] = defaultdict(int)
    names = {1: "Ex_table", 2: "Sh_table", 3: "Ex_intent", 4: "Sh_intent", 8: "Ex_row", 9: "Sh_row"}
    for row in t("syslocks"):
        number = row["type"]
        name = names[number & 255] + ("-blk" if number & 256 else "") + ("-request" if number & 1024 else "")
        counts[row["spid"], name] += 1
    return sorted((*key, count) for key, count in counts.items())


def objects(t: Tables, database: str) -> dict[int, str]:
    return {row["id"]: row["name"] for row in t("sysobjects") if row["database"] == database}


def pending_options(t: Tables) -> list[tuple[Any, ...]]:
    return sorted((o["name"], o["configured"], o["run"]) for o in t("options") if o["configured"] != o["run"])


def engines(t: Tables) -> list[Row]:
    return t("monEngine")


def sysmonitor_contention(t: Tables) -> list[tuple[Any, ...]]:
    totals: dict[str, dict[str, int]] = {"spinlock_p": defaultdict(int), "spinlock_w": defaultdict(int)}
    for row in t("sysmonitors"):
        if row["group_name"] in totals:
            totals[row["group_name"]][row["field_name"]] += row["value"]
    return sorted(
        (name.ljust(79), grabs, totals["spinlock_w"][name])
        for name, grabs in totals["spinlock_p"].items()
        if grabs > 0 and totals["spinlock_w"][name] > 0
    )


def top(
    rows: Iterable[tuple[Any, ...]], count: int, key: Callable[[tuple[Any, ...]], Any]
) -> list[tuple[Any, ...]]:
    return sorted(rows, key=key)[:count]
