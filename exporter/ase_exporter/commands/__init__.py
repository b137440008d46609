"""One module per command: it parses options, calls the package that does the work, and prints."""
