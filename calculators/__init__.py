"""Pure functions: architecture, memory, and what follows from them."""
