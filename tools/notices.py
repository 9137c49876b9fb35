#!/usr/bin/env python3
"""Says what of others is inside the files of a release, by the packages of the Debian system that built them.

    notices.py VERSION FOLDER [PACKAGE...]
                                    writes FOLDER/THIRD_PARTY_NOTICES.txt, FOLDER/LICENSES.txt (the texts that Debian's notices
                                    only point to) and FOLDER/tare.spdx.json (SPDX 2.3). PACKAGE...: of these alone, where not all is inside

What is linked statically is inside: `tare` whole, and libtare.so but for the C library; in packages of Debian's, its C++ library and
libhdf5 are outside, too. SOURCE_DATE_EPOCH is the
date that both bear, so that the same build gives the same bytes. TARE_SYSROOT, where it is set, is the system that was built
for (tools/cross/sysroot.sh).
"""
import datetime
import hashlib
import json
import os
import pathlib
import subprocess
import sys

#: Debian's package, and the licence of what comes of it into our files.
INSIDE = {"libfmt-dev": "MIT", "nlohmann-json3-dev": "MIT", "libcli11-dev": "BSD-3-Clause", "zlib1g-dev": "Zlib",
          "libdeflate-dev": "MIT", "libzstd-dev": "BSD-3-Clause", "liblzma-dev": "0BSD", "libhwy-dev": "Apache-2.0",
          "libhdf5-dev": "BSD-3-Clause", "libaec-dev": "BSD-2-Clause", "libc6-dev": "LGPL-2.1-or-later",
          "libstdc++-12-dev": "GPL-3.0-or-later WITH GCC-exception-3.1"}

#: Where Debian keeps the texts of these, as no notice of its packages holds them: packages of Debian's need no copy, others do.
COMMON = {"Apache-2.0": "Apache-2.0", "LGPL-2.1-or-later": "LGPL-2.1", "GPL-3.0-or-later WITH GCC-exception-3.1": "GPL-3"}
#: Releases of liblzma before 5.6 say so; later ones are 0BSD.
PUBLIC_DOMAIN = "LicenseRef-public-domain"
SAYS_PUBLIC_DOMAIN = "liblzma is in the public domain"

SYSTEM = pathlib.Path(os.environ.get("TARE_SYSROOT") or "/")


def version_of(package):
    done = subprocess.run(["dpkg-query", f"--admindir={SYSTEM / 'var/lib/dpkg'}", "-W", "-f=${Version}", package], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def installed(asked):
    """-> (package, version, licence) of those that are asked for; the C++ library by whichever major there is."""
    for package, licence in INSIDE.items():
        if package not in asked:
            continue
        if package.startswith("libstdc++-"):
            major = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True).stdout.split(".")[0].strip()
            package = f"libstdc++-{major}-dev"
        version = version_of(package)
        if version is None:
            sys.exit(f"notices.py: {package} is not installed, and something of it is inside: tools/packages.sh build")
        yield package, version, PUBLIC_DOMAIN if SAYS_PUBLIC_DOMAIN in copyright_of(package) else licence


def copyright_of(package):
    return (SYSTEM / "usr/share/doc" / package / "copyright").read_text(errors="replace")


def titled(title, text):
    return f"{'=' * 100}\n{title}\n{'=' * 100}\n{text}"


def texts(packages):
    asked = [COMMON[licence] for _, _, licence in packages if licence in COMMON]
    return "\n".join(titled(name, pathlib.Path("/usr/share/common-licenses", name).read_text()) for name in asked)


def notices(packages):
    parts = ["What of others is inside the files of this release, and under which licences.\n"]
    for package, version, licence in packages:
        parts.append(titled(f"{package} {version}: {licence}", copyright_of(package)))
    return "\n".join(parts)


def spdx(version, packages, moment):
    own = {"SPDXID": "SPDXRef-tare", "name": "tare", "versionInfo": version, "downloadLocation": "NOASSERTION",
           "filesAnalyzed": False, "licenseConcluded": "MIT", "licenseDeclared": "MIT", "copyrightText": "NOASSERTION"}
    parts = [{"SPDXID": f"SPDXRef-{package.replace('+', '-')}", "name": package, "versionInfo": found,
              "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
              "licenseDeclared": licence, "copyrightText": "NOASSERTION",
              "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                "referenceLocator": f"pkg:deb/debian/{package.replace('+', '%2B')}@{found}"}]}
             for package, found, licence in packages]
    contents = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": own["SPDXID"]}]
    relations += [{"spdxElementId": own["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": part["SPDXID"]}
                  for part in parts]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"tare-{version}",
            "documentNamespace": f"urn:tare:{version}:{contents}",
            "creationInfo": {"created": moment, "creators": ["Tool: tare/tools/notices.py"]},
            "packages": [own, *parts], "relationships": relations,
            "hasExtractedLicensingInfos": [{"licenseId": licence, "extractedText": SAYS_PUBLIC_DOMAIN}
                                           for _, _, licence in packages if licence == PUBLIC_DOMAIN]}


def main():
    if len(sys.argv) < 3 or not set(sys.argv[3:]) <= set(INSIDE):
        sys.exit(__doc__)
    version, folder, asked = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.datetime.now().timestamp())
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    packages = list(installed(asked or INSIDE))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "THIRD_PARTY_NOTICES.txt").write_text(notices(packages))
    (folder / "LICENSES.txt").write_text(texts(packages))
    (folder / "tare.spdx.json").write_text(json.dumps(spdx(version, packages, moment), indent=1) + "\n")


if __name__ == "__main__":
    main()
