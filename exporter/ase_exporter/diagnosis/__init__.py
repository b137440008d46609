"""The diagnosis of a server: what its sessions spend their time on, what is wrong, and what is not known.

Read in this order: findings.yaml (measures, time account, findings: all that a view shows is defined there),
measures (numbers with their provenance), account (where the time goes), diagnose (findings, ranked). The same as
recording rules is written by alerts/diagnosis_rules.py. Pure functions
of `Readings`; top, mcp_server, report and compare bring these.
"""
