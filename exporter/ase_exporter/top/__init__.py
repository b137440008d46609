"""A live view of servers without Prometheus: `ase-exporter top`.

Read in this order: samples (two readings of every metric), figures (what the rules would record of them), verdict (the
same in words), sampling (takes samples of one target, on a thread), header and view (lines and tables as text), plain
and as_json (for scripts), recording (record and replay), app (the screen; the only module that needs textual).
"""
