"""Metrics: families as data, their exposition, counters, columns of values, and limits.

families <- exposition (text formats) <- number_formatting, array_formatting. columns (result sets) <- counters (raw
values to totals). outcomes: success, duration and availability of collectors. series_limits, water_filling.
"""
