"""Comparison of time windows: windows, statistics, reports and automatic verdicts."""
