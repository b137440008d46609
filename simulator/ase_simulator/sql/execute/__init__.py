"""Runs statements: batches, queries, data changes, procedure calls, DBCC and administration commands."""
