"""Queries of DBAs (dba_queries.yaml), each with a construct of its own: the expected answers."""

from decimal import Decimal

from tests.simulator.sql.dba_answers import (
    Expected,
    blocking_chains,
    chain_heads,
    cut,
    database,
    engines,
    lock_holders,
    never_used_indexes,
    objects,
    pending_options,
    space,
    spinlock_contention,
    sums,
    sysmonitor_contention,
    top,
    wait_names,
    waits_by_class,
    who,
)

ANSWERS: dict[str, Expected] = {
    "spinlocks by contention": spinlock_contention,
    "caches beside their spinlocks": lambda t: sorted(
        (
            c["CacheName"],
            c["CachePartitions"],
            sums(t("monSpinlockActivity"), "SpinlockName", "Waits")[c["CacheName"]][0],
        )
        for c in t("monDataCache")
    ),
    "cache hit ratio": lambda t: sorted(
        (c["CacheName"], cut(100 - Decimal(100 * c["PhysicalReads"]) / c["CacheSearches"], 2))
        for c in t("monDataCache")
        if c["CacheSearches"] > 0
    ),
    "memory of cache pools": lambda t: [
        (p["CacheName"], f"{p['IOBufferSize'] // 1024}K", p["AllocatedKB"] // 1024)
        for p in sorted(t("monCachePool"), key=lambda p: (p["CacheName"], p["IOBufferSize"]))
    ],
    "engines and their threads": lambda t: [
        (e["EngineNumber"], x["ThreadPoolName"], x["KTID"])
        for e in engines(t)
        for x in t("monThread")
        if x["ThreadID"] == e["ThreadID"]
    ],
    "server state": lambda t: [
        (s["Transactions"], s["Connections"] + 1, t("seconds up")[0]["seconds"]) for s in t("monState")
    ],
    "ten longest waits": lambda t: top(
        (
            (w["WaitEventID"], wait_names(t)[w["WaitEventID"]], w["Waits"], w["WaitTime"])
            for w in t("monSysWaits")
            if w["WaitEventID"] in wait_names(t)
        ),
        10,
        lambda row: (-row[3], row[0]),
    ),
    "waits by class": waits_by_class,
    "what one process waited for": lambda t: sorted(
        (w["WaitEventID"], w["Waits"], w["WaitTime"]) for w in t("monProcessWaits") if w["SPID"] == 1020
    ),
    "blocked and blockers": blocking_chains,
    "heads of blocking chains": chain_heads,
    "waiters that block nobody": lambda t: sorted(
        (r["spid"],)
        for r in t("sysprocesses")
        if r["blocked"] and r["spid"] not in {o["blocked"] for o in t("sysprocesses")}
    ),
    "who is there": who,
    "locks by process": lock_holders,
    "locked objects": lambda t: sorted(
        (name, count[0])
        for name, count in sums(
            [
                {"name": objects(t, "trading")[r["id"]], "one": 1}
                for r in t("syslocks")
                if database(t, r["dbid"]) == "trading"
            ],
            "name",
            "one",
        ).items()
    ),
    "space of databases": space,
    "oldest transactions": lambda t: [
        (
            database(t, h["dbid"]),
            h["spid"],
            2,
            next(p["hostname"] for p in t("sysprocesses") if p["spid"] == h["spid"]),
        )
        for h in t("syslogshold")
    ],
    "device service time": lambda t: sorted(
        (
            d["LogicalName"],
            Decimal(repr(d["IOTime"] / (d["Reads"] + d["APFReads"] + d["Writes"]))).quantize(
                Decimal("0.01"), "ROUND_HALF_UP"
            ),
        )
        for d in t("monDeviceIO")
        if d["Reads"] + d["APFReads"] + d["Writes"] > 0
    ),
    "indexes that nobody uses": never_used_indexes,
    "objects with lock waits": lambda t: sorted(
        (n, r, w)
        for n, (r, w) in sums(
            [o for o in t("monOpenObjectActivity") if o["LockWaits"]],
            "ObjectName",
            "LockRequests",
            "LockWaits",
        ).items()
    ),
    "costly cached statements": lambda t: [
        (s["SSQLID"], s["SQLText"][:30])
        for s in sorted(t("monCachedStatement"), key=lambda s: (-s["UseCount"] * s["AvgLIO"], s["SSQLID"]))
    ],
    "options that wait for a restart": pending_options,
    "spinlock ratios": lambda t: sorted(
        (o["name"], o["run"], str(o["default"]), "static" if o["static"] else "dynamic")
        for o in t("options")
        if o["name"].endswith("spinlock ratio")
    ),
    "spinlocks of the monitor counters": sysmonitor_contention,
}
