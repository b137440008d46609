"""Configuration keys of earlier versions: the old path of a key and its present name.

A file with an old key is rejected with one line that names the new one. `[]` stands for a list entry. The path leads
through present names, since each level is reported on its own.
"""

RENAMED_KEYS = {
    "allow": "probe_allowlist",
    "probe_allowlist.most": "max_targets",
    "probe_allowlist.idle": "idle_timeout",
    "scrape.least": "min_timeout",
    "scrape.recheck": "recheck_interval",
    "changes.keep": "retention",
    "changes.keep_most": "max_changes",
    "changes.grafana.longest_pause": "max_backoff",
    "targets[].sysmon.every": "interval",
    "targets[].sysmon.sample": "duration",
    "targets[].sysmon.cells": "detail_sections",
}
