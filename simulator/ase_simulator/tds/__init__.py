"""The wire: TDS 5.0 as a server speaks it, over any Backend. Knows nothing of T-SQL or of the model."""
