"""Metrics: families as data, their exposition, counters, columns of values, and limits.

families <- exposition (text formats). columns (result sets) <- counters (raw values to totals). outcomes: success and
duration of collectors. series_limits.
"""
