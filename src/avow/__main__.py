"""The command `avow`."""

import sys

from avow import wiring
from avow.channels.cli.app import run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:], wiring.desk))


if __name__ == "__main__":
    main()
