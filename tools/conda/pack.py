#!/usr/bin/env python3
"""pack.py RECIPE SCRATCH FOLDER PLATFORM: builds the package for that (linux-64, linux-aarch64) with rattler-build, runs its
tests where this machine is one, and puts it into FOLDER."""
import json
import os
import pathlib
import shutil
import sys

import rattler_build


def channel_of_nothing(scratch):
    """Without one rattler-build would ask conda-forge, though nothing is needed of it."""
    for platform in "noarch", "linux-64", "linux-aarch64":
        index = scratch / "nothing" / platform / "repodata.json"
        index.parent.mkdir(parents=True)
        index.write_text(json.dumps({"info": {"subdir": platform}, "packages": {}, "packages.conda": {}}))
    return (scratch / "nothing").as_uri()


def main(recipe, scratch, folder, platform):
    of_here = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}.get(os.uname().machine)
    target = rattler_build.RenderConfig(platform=rattler_build.PlatformConfig(target_platform=platform, build_platform=of_here, host_platform=platform))
    channels = [channel_of_nothing(pathlib.Path(scratch))]
    for variant in rattler_build.Stage0Recipe.from_file(recipe).render(rattler_build.VariantConfig(), target):
        for made in variant.run_build(output_dir=scratch, channels=channels, no_include_recipe=True).packages:
            for test in rattler_build.Package.from_file(made).run_tests(channel=channels) if platform == of_here else []:
                if not test.success:
                    sys.exit("\n".join(test.output))
            kept = pathlib.Path(folder, pathlib.Path(made).name)
            shutil.copyfile(made, kept)
            print(f"{kept.name}: {kept.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
