"""Advice: what was read of a server and its diagnosis in, statements with arithmetic and predictions out."""
