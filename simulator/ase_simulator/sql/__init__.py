"""T-SQL: batches, expressions, queries over an embedded engine, system procedures."""
