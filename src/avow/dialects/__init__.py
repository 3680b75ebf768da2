"""The spellings in which an intent may arrive. A dialect reads and renders; it never judges."""
