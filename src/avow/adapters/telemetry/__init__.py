"""Log lines, metrics and spans on their way out, behind the port `Telemetry`."""
