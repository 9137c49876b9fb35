#!/usr/bin/env python3
"""pack.py RECIPE SCRATCH FOLDER PLATFORM: builds the package for that (linux-64, linux-aarch64) with rattler-build, runs its
tests where this machine is one, and puts it into FOLDER."""
import io
import json
import os
import pathlib
import sys
import tarfile
import zipfile

import rattler_build
import zstandard


def channel_of_nothing(scratch):
    """Without one rattler-build would ask conda-forge, though nothing is needed of it."""
    for platform in "noarch", "linux-64", "linux-aarch64":
        index = scratch / "nothing" / platform / "repodata.json"
        index.parent.mkdir(parents=True)
        index.write_text(json.dumps({"info": {"subdir": platform}, "packages": {}, "packages.conda": {}}))
    return (scratch / "nothing").as_uri()


def of_the_moment(tar, moment):
    """Nothing in it tells when and where it was packed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(tar)) as source, tarfile.open(fileobj=packed, mode="w") as target:
        for member in sorted(source.getmembers(), key=lambda member: member.name):
            content = source.extractfile(member).read() if member.isreg() else b""
            if member.name in ("info/index.json", "info/about.json"):
                told = json.loads(content)
                told.pop("channels", None)  # the one of nothing, by where it lay
                if "timestamp" in told:
                    told["timestamp"] = moment * 1000
                content = json.dumps(told, indent=2).encode()
            member.mtime, member.size, member.pax_headers = moment, len(content), {}
            target.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def repack(made, kept, moment):
    """The same package, alike however often it is made. Both are zip archives of two tar archives."""
    level = 19
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(kept, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(".tar.zst"):
                tar = zstandard.ZstdDecompressor().stream_reader(content).read()
                content = zstandard.ZstdCompressor(level).compress(of_the_moment(tar, moment))
            target.writestr(zipfile.ZipInfo(name), content)


def main(recipe, scratch, folder, platform):
    of_here = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}.get(os.uname().machine)
    target = rattler_build.RenderConfig(platform=rattler_build.PlatformConfig(target_platform=platform, build_platform=of_here, host_platform=platform))
    channels = [channel_of_nothing(pathlib.Path(scratch))]
    for variant in rattler_build.Stage0Recipe.from_file(recipe).render(rattler_build.VariantConfig(), target):
        for made in variant.run_build(output_dir=scratch, channels=channels, no_include_recipe=True).packages:
            kept = pathlib.Path(folder, pathlib.Path(made).name)
            repack(made, kept, int(os.environ["SOURCE_DATE_EPOCH"]))
            for test in rattler_build.Package.from_file(kept).run_tests(channel=channels) if platform == of_here else []:
                if not test.success:
                    kept.unlink()
                    sys.exit("\n".join(test.output))
            print(f"{kept.name}: {kept.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
