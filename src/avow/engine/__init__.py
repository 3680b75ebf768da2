"""Commands in three beats: gather, judge, record. Knows ports, never a vendor."""
