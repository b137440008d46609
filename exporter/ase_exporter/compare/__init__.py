"""Before and after: windows, statistics, reports."""
