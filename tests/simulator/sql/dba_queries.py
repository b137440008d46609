"""Queries of DBAs, each with a construct of its own: SQL and expected answer."""

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

QUERIES: dict[str, tuple[str, Expected]] = {
    "spinlocks by contention": (
        "select SpinlockName, sum(Grabs), sum(Spins), sum(Waits), convert(numeric(9,4), 100.0*sum(Waits)/sum(Grabs)), "
        "sum(Spins)/sum(Waits) from master..monSpinlockActivity group by SpinlockName having sum(Waits) > 0 "
        "order by sum(Waits) desc, SpinlockName",
        spinlock_contention,
    ),
    "caches beside their spinlocks": (
        "select c.CacheName, c.CachePartitions, s.waits from master..monDataCache c, (select SpinlockName, "
        "sum(Waits) waits from master..monSpinlockActivity group by SpinlockName) s "
        "where c.CacheName = s.SpinlockName order by c.CacheName",
        lambda t: sorted(
            (
                c["CacheName"],
                c["CachePartitions"],
                sums(t("monSpinlockActivity"), "SpinlockName", "Waits")[c["CacheName"]][0],
            )
            for c in t("monDataCache")
        ),
    ),
    "cache hit ratio": (
        'select CacheName, "hit %" = convert(numeric(5,2), 100 - 100.0 * PhysicalReads / CacheSearches) '
        "from master..monDataCache where CacheSearches > 0 order by 1",
        lambda t: sorted(
            (c["CacheName"], cut(100 - Decimal(100 * c["PhysicalReads"]) / c["CacheSearches"], 2))
            for c in t("monDataCache")
            if c["CacheSearches"] > 0
        ),
    ),
    "memory of cache pools": (
        "select CacheName, convert(varchar(6), IOBufferSize/1024) + 'K', AllocatedKB/1024 from master..monCachePool "
        "order by CacheName, IOBufferSize",
        lambda t: [
            (p["CacheName"], f"{p['IOBufferSize'] // 1024}K", p["AllocatedKB"] // 1024)
            for p in sorted(t("monCachePool"), key=lambda p: (p["CacheName"], p["IOBufferSize"]))
        ],
    ),
    "engines and their threads": (
        "select e.EngineNumber, t.ThreadPoolName, t.KTID from master..monEngine e inner join master..monThread t "
        "on e.ThreadID = t.ThreadID and e.InstanceID = t.InstanceID order by 1",
        lambda t: [
            (e["EngineNumber"], x["ThreadPoolName"], x["KTID"])
            for e in engines(t)
            for x in t("monThread")
            if x["ThreadID"] == e["ThreadID"]
        ],
    ),
    "server state": (
        "select Transactions, Connections, datediff(ss, StartDate, getdate()) from master..monState",
        lambda t: [
            (s["Transactions"], s["Connections"] + 1, t("seconds up")[0]["seconds"]) for s in t("monState")
        ],
    ),
    "ten longest waits": (
        "select top 10 w.WaitEventID, i.Description, w.Waits, w.WaitTime from master..monSysWaits w, "
        "master..monWaitEventInfo i where w.WaitEventID = i.WaitEventID and i.Language = 'en_US' "
        "order by w.WaitTime desc, w.WaitEventID",
        lambda t: top(
            (
                (w["WaitEventID"], wait_names(t)[w["WaitEventID"]], w["Waits"], w["WaitTime"])
                for w in t("monSysWaits")
                if w["WaitEventID"] in wait_names(t)
            ),
            10,
            lambda row: (-row[3], row[0]),
        ),
    ),
    "waits by class": (
        "select c.Description, sum(w.Waits), sum(w.WaitTime) from master..monSysWaits w join "
        "master..monWaitEventInfo i "
        "on w.WaitEventID = i.WaitEventID join master.dbo.monWaitClassInfo c on c.WaitClassID = i.WaitClassID "
        "group by c.Description having sum(w.WaitTime) > 0 order by 3 desc, 1",
        waits_by_class,
    ),
    "what one process waited for": (
        "select w.WaitEventID, w.Waits, w.WaitTime from master..monProcess p, master..monProcessWaits w "
        "where p.SPID = w.SPID and p.KPID = w.KPID and p.SPID = 1020 order by w.WaitEventID",
        lambda t: sorted(
            (w["WaitEventID"], w["Waits"], w["WaitTime"]) for w in t("monProcessWaits") if w["SPID"] == 1020
        ),
    ),
    "blocked and blockers": (
        "select b.spid, b.blocked, suser_name(h.suid), b.time_blocked from master..sysprocesses b, "
        "master..sysprocesses h where b.blocked = h.spid and b.blocked > 0 order by b.spid",
        blocking_chains,
    ),
    "heads of blocking chains": (
        "select spid from master..sysprocesses where blocked = 0 and spid in "
        "(select blocked from master..sysprocesses where blocked != 0) order by spid",
        chain_heads,
    ),
    "waiters that block nobody": (
        "select x.spid from master..sysprocesses x where x.blocked > 0 and not exists "
        "(select 1 from master..sysprocesses y where y.blocked = x.spid) order by x.spid",
        lambda t: sorted(
            (r["spid"],)
            for r in t("sysprocesses")
            if r["blocked"] and r["spid"] not in {o["blocked"] for o in t("sysprocesses")}
        ),
    ),
    "who is there": (
        "select p.spid, l.name, d.name, p.status, p.cmd from master..sysprocesses p, master..syslogins l, "
        "master..sysdatabases d where p.suid *= l.suid and p.dbid *= d.dbid and p.suid > 0 and p.spid != @@spid "
        "order by p.spid",
        who,
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
    "spinlocks of the monitor counters": (
        "select p.field_name, p.grabs, w.waits from (select field_name, sum(convert(numeric(18,0), value)) grabs from "
        "master..sysmonitors where group_name = 'spinlock_p' group by field_name) p, (select field_name, "
        "sum(convert(numeric(18,0), value)) waits from master..sysmonitors where group_name = "
        "'spinlock_w' group by field_name) w "
        "where p.field_name = w.field_name and p.grabs > 0 and w.waits > 0 order by p.field_name",
        sysmonitor_contention,
    ),
}
