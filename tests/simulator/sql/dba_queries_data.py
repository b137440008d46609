"""DBA queries about locks, space, objects, statements and options: SQL and expected answer."""

from decimal import Decimal

from tests.simulator.sql.dba_answers import (
    Expected,
    cut,
    database,
    engines,
    load_by_statistic,
    lock_holders,
    locks_by_type,
    never_used_indexes,
    objects,
    pending_options,
    space,
    sums,
    sysmonitor_contention,
    top,
)

QUERIES: dict[str, tuple[str, Expected]] = {
    "locks by type and state": (
        "select LockType, LockState, count(*) from master..monLocks group by LockType, LockState order by 1, 2",
        locks_by_type,
    ),
    "locks by process": (
        "select l.spid, v.name, count(*) from master..syslocks l, master..spt_values v where l.type = v.number "
        "and v.type = 'L' group by l.spid, v.name order by l.spid, v.name",
        lock_holders,
    ),
    "locked objects": (
        "select object_name(l.id, l.dbid), count(*) from master..syslocks l where db_name(l.dbid) = 'trading' "
        "group by object_name(l.id, l.dbid) order by 1",
        lambda t: sorted(
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
    ),
    "space of databases": (
        "select db_name(u.dbid), sum(case when u.segmap != 4 then u.size else 0 end) / (1048576/@@maxpagesize), "
        "sum(case when u.segmap = 4 then u.size else 0 end) / (1048576/@@maxpagesize), "
        "sum(curunreservedpgs(u.dbid, u.lstart, u.unreservedpgs)) / (1048576/@@maxpagesize) "
        "from master..sysusages u group by u.dbid order by 1",
        space,
    ),
    "free log pages": (
        "select lct_admin('logsegment_freepages', db_id('trading'))",
        lambda t: [
            (
                sum(
                    u["unreservedpgs"]
                    for u in t("sysusages")
                    if database(t, u["dbid"]) == "trading" and u["segmap"] & 4
                ),
            )
        ],
    ),
    "oldest transactions": (
        "select db_name(h.dbid), h.spid, datediff(ss, h.starttime, getdate()), p.hostname from master..syslogshold h "
        "left join master..sysprocesses p on h.spid = p.spid where h.name != '$replication_truncation_point'",
        lambda t: [
            (
                database(t, h["dbid"]),
                h["spid"],
                2,
                next(p["hostname"] for p in t("sysprocesses") if p["spid"] == h["spid"]),
            )
            for h in t("syslogshold")
        ],
    ),
    "log semaphore": (
        "select DBName, AppendLogRequests, AppendLogWaits from master..monOpenDatabases where "
        "AppendLogRequests > 0 order by 3 desc",
        lambda t: sorted(
            (
                (d["DBName"], d["AppendLogRequests"], d["AppendLogWaits"])
                for d in t("monOpenDatabases")
                if d["AppendLogRequests"] > 0
            ),
            key=lambda r: -r[2],
        ),
    ),
    "device service time": (
        "select LogicalName, convert(numeric(10,2), IOTime / convert(real, Reads + APFReads + Writes)) "
        "from master..monDeviceIO where Reads + APFReads + Writes > 0 order by LogicalName",
        lambda t: sorted(
            (
                d["LogicalName"],
                Decimal(repr(d["IOTime"] / (d["Reads"] + d["APFReads"] + d["Writes"]))).quantize(
                    Decimal("0.01"), "ROUND_HALF_UP"
                ),
            )
            for d in t("monDeviceIO")
            if d["Reads"] + d["APFReads"] + d["Writes"] > 0
        ),
    ),
    "i/o by kind": (
        "select IOType, sum(IOs), sum(IOTime) from master..monIOQueue group by IOType order by IOType",
        lambda t: sorted((k, i, s) for k, (i, s) in sums(t("monIOQueue"), "IOType", "IOs", "IOTime").items()),
    ),
    "hottest objects": (
        "select top 5 ObjectName, IndexID, LogicalReads from master..monOpenObjectActivity where DBID not in (1, 2, 3) "
        "order by LogicalReads desc, ObjectName, IndexID",
        lambda t: top(
            (
                (o["ObjectName"], o["IndexID"], o["LogicalReads"])
                for o in t("monOpenObjectActivity")
                if o["DBID"] not in (1, 2, 3)
            ),
            5,
            lambda r: (-r[2], r[0], r[1]),
        ),
    ),
    "indexes that nobody uses": (
        "select object_name(ObjectID, DBID), IndexID from master..monOpenObjectActivity where "
        "UsedCount = 0 and IndexID > 0 order by 1, 2",
        never_used_indexes,
    ),
    "objects with lock waits": (
        "select ObjectName, sum(LockRequests), sum(LockWaits) from master..monOpenObjectActivity "
        "where LockWaits > 0 group by ObjectName order by 1",
        lambda t: sorted(
            (n, r, w)
            for n, (r, w) in sums(
                [o for o in t("monOpenObjectActivity") if o["LockWaits"]],
                "ObjectName",
                "LockRequests",
                "LockWaits",
            ).items()
        ),
    ),
    "procedure cache": (
        "select Requests, Loads, hit = convert(numeric(5,2), 100 - 100.0 * Loads / Requests) from "
        "master..monProcedureCache",
        lambda t: [
            (p["Requests"], p["Loads"], cut(100 - Decimal(100 * p["Loads"]) / p["Requests"], 2))
            for p in t("monProcedureCache")
        ],
    ),
    "procedures by memory": (
        "select ObjectName, count(*), sum(MemUsageKB) kb from master..monCachedProcedures group by "
        "ObjectName order by kb desc, ObjectName",
        lambda t: sorted(
            (
                (n, c, k)
                for n, (c, k) in sums(
                    [p | {"one": 1} for p in t("monCachedProcedures")], "ObjectName", "one", "MemUsageKB"
                ).items()
            ),
            key=lambda r: (-r[2], r[0]),
        ),
    ),
    "statement cache": (
        "select TotalSizeKB - UsedSizeKB, case NumSearches when 0 then 0 else 100 * HitCount / "
        "NumSearches end from master..monStatementCache",
        lambda t: [
            (s["TotalSizeKB"] - s["UsedSizeKB"], 100 * s["HitCount"] // s["NumSearches"])
            for s in t("monStatementCache")
        ],
    ),
    "costly cached statements": (
        "select SSQLID, substring(show_cached_text(SSQLID), 1, 30) from master..monCachedStatement "
        "order by UseCount * AvgLIO desc, SSQLID",
        lambda t: [
            (s["SSQLID"], s["SQLText"][:30])
            for s in sorted(
                t("monCachedStatement"), key=lambda s: (-s["UseCount"] * s["AvgLIO"], s["SSQLID"])
            )
        ],
    ),
    "options that wait for a restart": (
        "select a.name, a.value, b.value from master..sysconfigures a, master..syscurconfigs b where "
        "a.config = b.config "
        "and a.parent != 19 and a.value != b.value order by a.name",
        pending_options,
    ),
    "spinlock ratios": (
        "select b.comment, b.value, b.defvalue, b.type from master..syscurconfigs b where b.comment "
        "like '%spinlock ratio' order by 1",
        lambda t: sorted(
            (o["name"], o["run"], str(o["default"]), "static" if o["static"] else "dynamic")
            for o in t("options")
            if o["name"].endswith("spinlock ratio")
        ),
    ),
    "load": (
        "select Statistic, max(Peak) from master..monSysLoad group by Statistic order by Statistic",
        load_by_statistic,
    ),
    "network": (
        "select sum(PacketsSent), sum(PacketsReceived), sum(BytesSent) / 1048576 from master..monNetworkIO",
        lambda t: [
            (
                sum(n["PacketsSent"] for n in t("monNetworkIO")),
                sum(n["PacketsReceived"] for n in t("monNetworkIO")),
                sum(n["BytesSent"] for n in t("monNetworkIO")) // 1048576,
            )
        ],
    ),
    "time by operation": (
        "select OperationName, ExecutionTime / 1000000, ExecutionCnt from master..monSysExecutionTime "
        "order by OperationID",
        lambda t: [
            (o["OperationName"], o["ExecutionTime"] // 1000000, o["ExecutionCnt"])
            for o in sorted(t("monSysExecutionTime"), key=lambda o: o["OperationID"])
        ],
    ),
    "spinlocks of the monitor counters": (
        "select p.field_name, p.grabs, w.waits from (select field_name, sum(convert(numeric(18,0), value)) grabs from "
        "master..sysmonitors where group_name = 'spinlock_p' group by field_name) p, (select field_name, "
        "sum(convert(numeric(18,0), value)) waits from master..sysmonitors where group_name = "
        "'spinlock_w' group by field_name) w "
        "where p.field_name = w.field_name and p.grabs > 0 and w.waits > 0 order by p.field_name",
        sysmonitor_contention,
    ),
    "devices": (
        "select name, (high - low + 1) / 512 from master..sysdevices where status & 2 = 2 order by name",
        lambda t: sorted((d["name"], (d["high"] - d["low"] + 1) // 512) for d in t("sysdevices")),
    ),
    "error log": (
        "select count(*), max(ErrorNumber) from master..monErrorLog where ErrorMessage like 'engine%online'",
        lambda t: [(len(engines(t)), 0)],
    ),
}
