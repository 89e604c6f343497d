"""`make quality`: ask the project's own questions about the project's own notes, and compare with what is recorded.

    python -m tests.quality [--engine builtin|qmd] [--failures] [--record]

Ends with 1 when a figure is worse than recorded.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.quality import locomo, recorded, report
from tests.quality.asking import ask_all
from tests.quality.questions import load


def main() -> int:
    """Run, print, compare or record; 0 when nothing is worse."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["builtin", "qmd"], default="builtin")
    parser.add_argument("--failures", action="store_true", help="list what was missed")
    parser.add_argument("--record", action="store_true", help="make these figures the recorded ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quality-") as folder:
        verdicts = ask_all(Path(folder), load(), engine=options.engine)
    print("\n".join(report.table(verdicts)))
    if options.failures:
        print("", *report.failures(verdicts), sep="\n")
    values = recorded.measured(verdicts)
    if options.record:
        recorded.write(options.engine, values)
    worse = recorded.worse(values, recorded.read(options.engine))
    print("", *(f"WORSE {line}" for line in worse), sep="\n", flush=True)
    if options.engine == "builtin":
        print(locomo.report(locomo.folder()))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
