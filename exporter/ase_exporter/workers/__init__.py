"""Worker processes, which run the scrapes, and the pool of them in the web process."""
