"""Doors: each translates to the engine's words and back, and knows nothing else."""
