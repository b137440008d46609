"""A live view of servers without Prometheus: `ase-exporter top`.

Read in this order: samples (two readings of every metric: what `diagnosis` judges), figures (of the tables), sampling
(takes samples of one target, on a thread), header and view (lines and tables as text), plain and as_json (for
scripts), recording (record and replay), app (the screen; the only module that needs textual).
"""
