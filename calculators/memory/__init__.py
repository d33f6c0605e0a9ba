"""Memory per GPU: what a deployment needs and what its engine reserves."""
