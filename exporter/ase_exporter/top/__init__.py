"""A live view of servers without Prometheus: `ase-exporter top`.

Read in this order: tables (what is shown, from tables.yaml), figures (of the rows of tables), frames (a moment as it
is shown), feed (takes them on threads), header, view and detail (lines, tables and a session as text), plain (for
scripts), rows and app (the screen; the only modules with textual).
"""
