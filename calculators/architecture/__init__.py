"""From a config.json to parameters and cache elements."""
