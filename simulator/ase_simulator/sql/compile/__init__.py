"""Parsed query to SQL for the embedded engine, with the exact types of its columns."""
