"""Keys that sign, and where they are kept."""
