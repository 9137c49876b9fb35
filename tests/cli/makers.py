#!/usr/bin/env python3
"""Asks the scripts that make files of a release for what they do not do: it is told before anything is built. What they say of others' licences
is whole.

    makers.py
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from corpus import require

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
WRONG_USAGE = 2
PATIENCE_S = 60
MAKERS = ["deb.sh", "tarball.sh", "wheel.sh", "release.sh"]


def asked(script, *words, folder, **environment):
    done = subprocess.run([TOOLS / script, *words], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S,
                          env={**os.environ, **environment})
    require(done.returncode == WRONG_USAGE, script, words, environment, "exit", done.returncode, done.stderr[-300:])
    return done.stderr


def check_notices(folder):
    """What Debian's notices point to is there in full, and a licence that SPDX has no name for with what says so."""
    subprocess.run([TOOLS / "notices.py", "1.0", folder], check=True, timeout=PATIENCE_S)
    texts, spdx = (folder / "LICENSES.txt").read_text(), json.loads((folder / "tare.spdx.json").read_text())
    for title in "Apache License", "GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE":
        require(title in texts, "LICENSES.txt lacks the", title)
    own = {part["licenseConcluded"] for part in spdx["packages"] if part["licenseConcluded"].startswith("LicenseRef-")}
    require(own == {told["licenseId"] for told in spdx["hasExtractedLicensingInfos"]}, "SPDX does not explain", own)


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for script in [*MAKERS, "conda.sh"]:
            for words in [], ["--help"], ["-h", "x"]:
                require(f"tools/{script} FOLDER" in asked(script, *words, folder=folder), script, words, "tells no usage")
        require(not list(folder.iterdir()) and not (TOOLS.parent / "--help").exists(), "a folder was made of an option")
        for script in MAKERS:
            for wrong in "aarch64", "x86_64", "s390x":  # the kernel's names, and one that nothing is made for
                told = asked(script, f"of-{script}", folder=folder, TARE_ARCHITECTURE=wrong)
                require(wrong in told and "amd64, arm64" in told, script, told)
            require((folder / f"of-{script}").is_dir(), script, "takes a relative folder from elsewhere than where one stands")
        check_notices(folder / "notices")
    print(f"{len(MAKERS) + 1} scripts tell what they are not asked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
