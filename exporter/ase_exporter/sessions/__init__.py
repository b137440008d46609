"""Who runs what: sessions, whom they wait for, the statements that cost most. Nothing here is kept or sent unasked.

Read in this order: sources (what is read of which table), reader (reads it, within the scrape's budget), session
(rows become sessions), blocking (who blocks whom), statements (growth between two readings), incidents (what was kept
of the moment at which something began).
"""
