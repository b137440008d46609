"""Settings that change without anybody setting them, which are never reported; every entry has its reason.

Names are compared without regard to case.
"""

# sp_configure options (master..sysconfigures).
OPTIONS = {
    "total logical memory": "computed; follows every option and cache that takes memory",
    "total physical memory": "computed; follows every option and cache that takes memory",
    "total data cache size": "computed; the sum of all caches, whose own changes are reported",
    "configuration file": "the server writes a new numbered copy at every sp_configure",
    "current audit table": "the audit trail moves on to its next table when one is full",
}

# Database options as the server's own master..spt_values names them: states, not settings.
DATABASE_OPTIONS = {
    "ALL SETTABLE OPTIONS": "the mask of all options",
    "created for load": "a database is being loaded",
    "don't recover": "a database is being loaded",
    "not recovered": "set while the server recovers it",
    "not recovered yet": "set while the server recovers it",
    "offline": "set around load, online and recovery",
    "offline until recovery completes": "set during recovery",
    "has suspect pages/objects": "found by the server",
    "online in progress": "set while it comes online",
    "being upgraded": "set during an upgrade",
    "currently being loaded": "set during load",
    "in load": "set during load",
    "database suspect": "found by the server",
    "dbid has changed": "set by load, until dbcc puts it right",
    "single-user (internal)": "taken by utilities for themselves",
    "quiesce database": "held and released by backups",
    "has log page(s) allocated in mixed log and data segments": "follows the layout of the log",
    "mixed log and data": "follows the layout of the log",
    "dsync/directio": "a property of its devices",
}
