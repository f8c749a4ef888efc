"""`python3 -m oracle DATA`: checks the laws over a data folder. 0: all hold. 1: one is broken. 2: the check failed."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from pathlib import Path

from .check import CheckFailed, check


HOLDS, BROKEN, CHECK_FAILED = 0, 1, 2


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="oracle", description=__doc__)
    parser.add_argument("data", type=Path, help="the data folder")
    parser.add_argument("--ledger", type=Path, help="the ledger of a driver")
    parser.add_argument("--settled", action="store_true", help="no process works on it any more")
    parser.add_argument("--skillrun", type=Path, help="the program whose replays are compared")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def main() -> int:
    words = arguments()
    try:
        report = check(words.data, words.ledger, is_settled=words.settled, program=words.skillrun)
    except CheckFailed as error:
        print(f"oracle: {error}", file=sys.stderr)
        return CHECK_FAILED
    except Exception:
        # Python would leave with 1, which says that a law is broken.
        traceback.print_exc()
        return CHECK_FAILED
    if words.json:
        print(json.dumps(report.as_json(), indent=2))
    else:
        print("\n".join(report.lines()))
    return HOLDS if report.holds else BROKEN


if __name__ == "__main__":
    sys.exit(main())
