"""What `check`, `setup` and a capture's report find out about a server, and how it is printed.

`target_check` reads a server as a scrape would and collects what is missing; `view` shows that;
`capture_report` does the same for what a capture shows.
"""
