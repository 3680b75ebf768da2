"""Users of Avow's outside: what a stranger can run against a journal or a server."""
