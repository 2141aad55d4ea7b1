"""Runs the tests, or those that are named, and ends with `N passed, N failed`."""

import functools
import pathlib
import sys
import tempfile
import traceback

import at_rest
import differential
import outside
import properties


def tests():
    """The tests by name; each takes a folder of its own."""
    for path in sorted(differential.SCENARIOS.glob("*.sql")):
        yield path.stem, functools.partial(differential.check, path)
    for module in (properties, at_rest, outside):
        for name, test in vars(module).items():
            if name.startswith("test_"):
                yield name.removeprefix("test_"), test


def main():
    wanted = sys.argv[1:]
    passed = failed = 0
    for name, test in tests():
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(pathlib.Path(folder))
            except Exception:  # A test may fail in any way; the others run all the same.
                traceback.print_exc(file=sys.stdout)
                print(f"FAIL {name}", flush=True)
                failed += 1
            else:
                print(f"ok   {name}", flush=True)
                passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
