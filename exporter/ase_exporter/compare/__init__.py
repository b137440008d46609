"""Comparison of time windows: windows, statistics and reports."""
