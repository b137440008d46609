"""TDS 5.0, server side, over any Backend. Independent of T-SQL and the model."""
