"""View parts shared by the pages."""
