"""DBA queries about CPU, spinlocks, caches, waits and blocking: SQL and expected answer."""

from decimal import Decimal

from tests.simulator.sql.dba_answers import (
    Expected,
    blocking_chains,
    chain_heads,
    cut,
    engines,
    spinlock_contention,
    sums,
    thread_pools,
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
    "slots of each spinlock": (
        "select name = SpinlockName, slots = count(*) from master..monSpinlockActivity "
        "group by SpinlockName having count(*) > 1 order by SpinlockName",
        lambda t: sorted(
            (name, count[0])
            for name, count in sums(
                [r | {"one": 1} for r in t("monSpinlockActivity")], "SpinlockName", "one"
            ).items()
            if count[0] > 1
        ),
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
    "engine busy": (
        "select EngineNumber, busy = 100 * (UserCPUTime + SystemCPUTime) / (UserCPUTime + SystemCPUTime + IdleCPUTime) "
        "from master..monEngine where Status = 'online' order by EngineNumber",
        lambda t: [
            (
                e["EngineNumber"],
                100
                * (e["UserCPUTime"] + e["SystemCPUTime"])
                // (e["UserCPUTime"] + e["SystemCPUTime"] + e["IdleCPUTime"]),
            )
            for e in engines(t)
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
    "ticks of thread pools": (
        "select ThreadPoolName, sum(BusyTicks), sum(TotalTicks) from master..monThread group by "
        "ThreadPoolName order by 1",
        thread_pools,
    ),
    "thread pool sizes": (
        "select ThreadPoolName, Size, Type from master..monThreadPool order by ThreadPoolID",
        lambda t: [
            (p["ThreadPoolName"], p["Size"], p["Type"])
            for p in sorted(t("monThreadPool"), key=lambda p: p["ThreadPoolID"])
        ],
    ),
    "server state": (
        "select Transactions, Connections, datediff(ss, StartDate, getdate()) from master..monState",
        lambda t: [
            (s["Transactions"], s["Connections"] + 1, t("seconds up")[0]["seconds"]) for s in t("monState")
        ],
    ),
    "work by kind": (
        "select Selects + Inserts + Updates + Deletes, convert(bigint, LogicalReads) * 1 from master..monState",
        lambda t: [
            (s["Selects"] + s["Inserts"] + s["Updates"] + s["Deletes"], s["LogicalReads"])
            for s in t("monState")
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
    "blocked as MDA sees it": (
        "select SPID, BlockingSPID, WaitEventID from master..monProcess where BlockingSPID is not null order by SPID",
        lambda t: sorted(
            (p["SPID"], p["BlockingSPID"], p["WaitEventID"])
            for p in t("monProcess")
            if p["BlockingSPID"] is not None
        ),
    ),
    "who is there": (
        "select p.spid, l.name, d.name, p.status, p.cmd from master..sysprocesses p, master..syslogins l, "
        "master..sysdatabases d where p.suid *= l.suid and p.dbid *= d.dbid and p.suid > 0 and p.spid != @@spid "
        "order by p.spid",
        who,
    ),
    "processes by status": (
        "select status, count(*) from master..sysprocesses where spid <> @@spid group by status order by status",
        lambda t: sorted(
            (s.ljust(12), c[0])
            for s, c in sums([r | {"one": 1} for r in t("sysprocesses")], "status", "one").items()
        ),
    ),
    "applications by host": (
        "select program_name, hostname, count(*) c from master..sysprocesses where suid > 1 group by "
        "program_name, hostname "
        "having count(*) > 5 order by c desc, hostname",
        lambda t: [
            ("trading simulation", host, count[0])
            for host, count in sorted(
                sums([r | {"one": 1} for r in t("sysprocesses") if r["suid"] > 1], "hostname", "one").items(),
                key=lambda i: (-i[1][0], i[0]),
            )
        ],
    ),
    "busiest processes": (
        "select top 5 p.SPID, p.Login, a.CPUTime from master..monProcess p, master..monProcessActivity a "
        "where p.SPID = a.SPID and p.KPID = a.KPID order by a.CPUTime desc, p.SPID",
        lambda t: top(
            (
                (a["SPID"], next(p["Login"] for p in t("monProcess") if p["SPID"] == a["SPID"]), a["CPUTime"])
                for a in t("monProcessActivity")
            ),
            5,
            lambda row: (-row[2], row[0]),
        ),
    ),
    "statements that run now": (
        "select count(*), min(s.SPID) from master..monProcessStatement s, master..monProcessSQLText x "
        "where s.SPID = x.SPID and s.KPID = x.KPID and s.BatchID = x.BatchID",
        lambda t: [
            (
                sum(
                    x["SPID"] == s["SPID"] and x["BatchID"] == s["BatchID"]
                    for s in t("monProcessStatement")
                    for x in t("monProcessSQLText")
                ),
                min(
                    s["SPID"]
                    for s in t("monProcessStatement")
                    if any(x["SPID"] == s["SPID"] for x in t("monProcessSQLText"))
                ),
            )
        ],
    ),
}
