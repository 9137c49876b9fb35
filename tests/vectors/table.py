#!/usr/bin/env python3
"""The table of README.md here has a row for every rule that the library runs, and what it names as a test is there.

    table.py --tare TARE --library LIBTARE --bindings FOLDER --corpus FOLDER
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cli"))

from beside_library import command_and_library
from corpus import require

TYPED = {"typed_vectors": "unit/rule/typed_vectors_test", "tables_vectors": "unit/rule/tables_vectors_test",
         "vectors": "unit/scaler/vectors_test", "fp8_vectors": "capi/fp8_vectors_test", "property_test": "unit/rule/property_test"}


def rows():
    """-> what is in backticks in each row's first cell, and in its last."""
    for line in (HERE / "README.md").read_text().splitlines():
        cells = line.strip("|").split(" | ")
        if line.startswith("|") and not line.startswith("|---") and len(cells) == 4 and cells[0].strip() != "rule":
            require(all(cell.strip() for cell in cells), "an empty cell:", line)
            yield re.findall(r"`([^`]+)`", cells[0]), re.findall(r"`([^`]+)`", cells[3])


def main():
    table = list(rows())
    require(len(table) > 30, "the table has", len(table), "rows")
    named = {name for names, _ in table for name in names}
    for test in sorted({test for _, tests in table for test in tests}):
        path = HERE.parent / f"{TYPED.get(test, test)}.cpp"
        require(path.exists(), test, "is no test: there is no", path)
    with command_and_library(__doc__) as (tare, *_):
        policies = json.loads(tare._text("policies"))["policies"] + json.loads(tare._text("fp8_policies"))["policies"]
    missing = [one["policy"] for one in policies if one["policy"] not in named and one["policy"] != "megatron_none"]
    require(not missing, "rules without a row:", missing)
    print(f"{len(table)} rows; {len({one['policy'] for one in policies})} policies of the library have one")


if __name__ == "__main__":
    main()
