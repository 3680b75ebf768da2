"""Intent Record Language 0.1: the record an agent writes, and the answer it reads."""
