"""Number formats of weights and caches in true bits."""
