"""`tare` and `python -m tare`: the command that the package brings, in this process's place."""
import os
import shutil
import sys


def main() -> None:
    bundled = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "tare")
    command = bundled if os.path.exists(bundled) else None
    if command is None:
        found = shutil.which("tare")
        command = None if found is None or os.path.samefile(found, sys.argv[0]) else found
    if command is None:
        sys.exit("tare: this copy of the package brings no command: install the wheel, or tare itself")
    os.execv(command, ["tare", *sys.argv[1:]])


if __name__ == "__main__":
    main()
