"""The command `avow`."""

import sys
from io import TextIOWrapper

from avow import wiring
from avow.channels.cli.app import run


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal that cannot show a sign gets it written out; nothing fails for it.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:], wiring.desk))


if __name__ == "__main__":
    main()
