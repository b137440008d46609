"""Advice on hot spinlocks: live counters and configuration in, statements with arithmetic and predictions out."""
