"""One outside thing each, behind a port of `engine.ports`."""
