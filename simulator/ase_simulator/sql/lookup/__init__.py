"""Lookups that functions, system tables and procedures share: names, object ids, space, server facts."""
