"""The diagnosis of a server: what its sessions spend their time on, what is wrong, and what is not known.

Read in this order: findings.yaml (measures, time account, findings: all that a view shows is defined there),
measures (numbers with their provenance), account (where the time goes), diagnose (findings, ranked), usual (what they
are compared with), exported (metrics) and data (JSON). Pure functions of `Readings`, which `serve`, top, mcp_server,
report and compare bring.
"""
