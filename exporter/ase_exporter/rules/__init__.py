"""The windows of the shipped Prometheus rules for any scrape interval."""
