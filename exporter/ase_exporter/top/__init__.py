"""A live view of servers without Prometheus: `ase-exporter top`.

Read in this order: samples (two readings of every metric: what `diagnosis` judges), figures (of the tables), sampling
(takes samples of one target), frames (a moment as it is shown), feed (takes them on threads), header and view (lines
and tables as text), plain (for scripts), recording (record and replay), app (the screen; the only one with textual).
"""
