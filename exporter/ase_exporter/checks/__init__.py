"""What `check` and `setup` find out about a server, and how it is printed.

`target_check` reads a server as a scrape would and collects what is missing; `view` shows that.
"""
