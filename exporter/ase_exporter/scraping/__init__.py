"""One scrape of one target: connect, plan, read what is due, and report how it went.

Read in this order: target_scraper (the scrape), module_collector (reading the collectors of a module), budget (how
often expensive collectors are read), result (what a scrape collects, and what others keep of it).
"""
