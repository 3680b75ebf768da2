"""Branch coverage of a test run against its floors; run after `pytest --cov`.

Core and dialects are held to every branch; the rest to nine tenths.
"""

import io
import sys
from pathlib import Path

import coverage

# Only the sources that lie here: tests also run copies, broken on purpose.
SOURCE = Path(__file__).resolve().parent.parent / "src" / "avow"
FLOORS = {"core": 100.0, "dialects": 100.0, "engine": 95.0, "adapters": 90.0, "channels": 90.0}


def main() -> int:
    """Print each layer's coverage and return 1 if one is below its floor."""
    measured = coverage.Coverage(config_file="pyproject.toml")
    measured.load()
    failed = False
    for layer, floor in FLOORS.items():
        report = io.StringIO()
        own = [str(SOURCE / layer / "*")]
        got = measured.report(include=own, file=report, show_missing=True)
        sys.stdout.write(f"coverage {layer}: {got:.1f} % (floor {floor:.0f} %)\n")
        if got < floor:
            failed = True
            sys.stdout.write(report.getvalue())
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
