#!/usr/bin/env python3
"""Shows that the layering test can fail: a made-up tree that is clean, then one offence after the other."""
import pathlib
import sys
import tempfile

import layering

CLEAN = {
    "CMakeLists.txt": "",
    "README.md": "",
    "build/leftover.cpp": '#include "lib/edit/plan.hpp"\n',
    "kernels/dtype.hpp": "#include <cstdint>\n",
    "kernels/cuda/launch.hpp": "#include <cuda_runtime.h>\n",
    "lib/base/error.hpp": "#include <string>\n#include <sys/mman.h>\nnamespace tare {\nstruct Error {\n};\n}  // namespace tare\n",
    "kernels/scaler_core.hpp": '#include "kernels/rule/torch.hpp"\n',
    "kernels/rule/torch.hpp": '#include "kernels/dtype.hpp"\n',
    "kernels/element.hpp": "#include <cuda_fp16.h>\n",
    "lib/remote/http.cpp": "#include <curl/curl.h>\n",
    "lib/json/reader.hpp": '#include "lib/tree/node.hpp"\n',
    "lib/hdf5/file.hpp": '#include "lib/tree/node.hpp"\n',
    "lib/attest/attest.hpp": '#include "lib/checkpoint/scan.hpp"\n',
    "lib/trace/trace.hpp": '#include "lib/checkpoint/scan.hpp"\n',
    "lib/chart/curve.hpp": '#include "lib/base/error.hpp"\n',
    "lib/health/doctor.hpp": '#include "lib/trace/trace.hpp"\n#include "lib/chart/curve.hpp"\n',
    "lib/watch/watch.hpp": '#include "lib/health/doctor.hpp"\n',
    "lib/migrate/migrate.hpp": '#include "lib/edit/plan.hpp"\n',
    "lib/dialect/frameworks/jmp.cpp": '#include "lib/dialect/torch.hpp"\nnamespace tare {\nnamespace {\nusing Form = char;\n'
                                      "struct Mark {\n};\nconstexpr int marks[] = {1};\n}  // namespace\n}  // namespace tare\n",
    "lib/dialect/alike.cpp": "namespace tare {\nnamespace {\nusing Form = char;\n}  // namespace\n}  // namespace tare\n",
    "lib/edit/marks.cpp": "namespace tare {\nnamespace {\nconstexpr int marks[] = {2};\n}  // namespace\n}  // namespace tare\n",
    "lib/tree/node.hpp": '#include "kernels/dtype.hpp"\n#include "lib/base/error.hpp"\n',
    "lib/tree/CMakeLists.txt": "tare_room(tree tare_base)\n",
    "lib/container/torch/zip.hpp": '#include "lib/container/zip/zip.cpp"\n',
    "lib/container/open.cpp": '#include "lib/container/zip/zip.cpp"\n',
    "lib/container/zip/zip.cpp": '#include <zlib.h>\n#include "lib/tree/node.hpp"\n',
    "lib/state/state.hpp": '#include "lib/base/error.hpp"\n',
    "lib/dialect/torch.hpp": '#include "lib/state/state.hpp"\n#include "lib/tree/node.hpp"\n',
    "lib/checkpoint/scan.hpp": '#include "lib/dialect/torch.hpp"\n',
    "lib/container/change.hpp": '#include "lib/base/error.hpp"\n',
    "lib/transaction/undo.hpp": '#include "lib/container/change.hpp"\n',
    "lib/objects/claim.hpp": '#include "lib/transaction/undo.hpp"\n',
    "lib/edit/plan.hpp": '#include "lib/checkpoint/scan.hpp"\n#include "lib/transaction/undo.hpp"\n',
    "lib/report/json.cpp": '#include "lib/edit/plan.hpp"\n',
    "lib/codec/hdf5_file.cpp": "#include <hdf5.h>\n",
    "lib/device/stream.hpp": '#include "kernels/cuda/launch.hpp"\n',
    "lib/collective/communicator.hpp": '#include "lib/base/error.hpp"\n',
    "lib/scaler/scaler.hpp": '#include "lib/device/stream.hpp"\n#include "lib/collective/communicator.hpp"\n',
    "lib/monitor/monitor.hpp": '#include "lib/scaler/scaler.hpp"\n',
    "capi/include/tare/tare.h": "#include <stdint.h>\n",
    "capi/src/state.cpp": '#include <tare/tare.h>\n#include "lib/state/state.hpp"\n',
    "tools/main.cpp": '#include "lib/report/json.hpp"\n',
    "tools/command_line.cpp": "#include <CLI/CLI.hpp>\n",
    "lib/report/json.hpp": "#include <string_view>\n",
    "tests/any.cpp": '#include "lib/device/stream.hpp"\n',
}

# (file, its text or None where it goes, what must be said of it)
OFFENCES = [
    ("kernels/fp8/up.cpp", '#include "kernels/cuda/launch.hpp"\n', "kernels/fp8 may not include kernels/cuda"),
    ("kernels/plan.cpp", '#include "kernels/rule/torch.hpp"\n', "kernels/ may not include kernels/rule"),
    ("lib/dialect/up.cpp", '#include "lib/dialect/frameworks/jmp.cpp"\n', "lib/dialect/ may not include"),
    ("kernels/rule.hpp", '#include "lib/base/error.hpp"\n', "kernels may not include lib/base/error.hpp"),
    ("lib/base/up.cpp", '#include "lib/tree/node.hpp"\n', "lib/base may not include lib/tree/node.hpp"),
    ("lib/tree/up.cpp", '  #  include "lib/dialect/torch.hpp"\n', "lib/tree may not include lib/dialect/torch.hpp"),
    ("lib/tree/up.cpp", '#include "lib/tree/../dialect/torch.hpp"\n', "is not the plain path"),
    ("lib/container/knows.cpp", '#include "lib/dialect/torch.hpp"\n', "lib/container may not include lib/dialect"),
    ("lib/container/knows.cpp", '#include "lib/state/state.hpp"\n', "lib/container may not include lib/state"),
    ("lib/dialect/sees.cpp", '#include "lib/container/zip/zip.cpp"\n', "lib/dialect may not include lib/container"),
    ("lib/container/zip/up.cpp", '#include "lib/container/torch/zip.hpp"\n', "lib/container/zip may not include"),
    ("lib/container/nested.cpp", '#include "lib/container/zip/zip.cpp"\n', "lib/container/ may not include"),
    ("lib/container/arc/arc.cpp", "#include <string>\n", "its folder has no arrows"),
    ("lib/json/up.cpp", '#include "lib/container/change.hpp"\n', "lib/json may not include lib/container"),
    ("lib/hdf5/up.cpp", '#include "lib/container/change.hpp"\n', "lib/hdf5 may not include lib/container"),
    ("lib/state/up.cpp", '#include "lib/dialect/torch.hpp"\n', "lib/state may not include lib/dialect"),
    ("lib/checkpoint/up.cpp", '#include "lib/edit/plan.hpp"\n', "lib/checkpoint may not include lib/edit"),
    ("lib/transaction/up.cpp", '#include "lib/edit/plan.hpp"\n', "lib/transaction may not include lib/edit"),
    ("lib/transaction/up.cpp", '#include "lib/state/state.hpp"\n', "lib/transaction may not include lib/state"),
    ("lib/transaction/up.cpp", '#include "lib/checkpoint/scan.hpp"\n', "lib/transaction may not include lib/checkpoint"),
    ("lib/edit/up.cpp", '#include "lib/report/json.hpp"\n', "lib/edit may not include lib/report"),
    ("lib/edit/up.cpp", '#include "tools/main.cpp"\n', "lib/edit may not include tools/main.cpp"),
    ("tools/gpu.cpp", '#include "kernels/cuda/launch.hpp"\n', "tools/gpu.cpp: reaches kernels/cuda/launch.hpp"),
    ("capi/src/tool.cpp", '#include "tools/main.cpp"\n', "capi may not include tools/main.cpp"),
    ("lib/tree/gpu.cpp", "#include <cuda_runtime.h>\n", "lib/tree/gpu.cpp: reaches <cuda_runtime.h>"),
    ("lib/edit/gpu.cpp", '#include "lib/device/stream.hpp"\n', "lib/edit/gpu.cpp: reaches lib/device/stream.hpp"),
    ("kernels/dtype.hpp", '#include "kernels/cuda/launch.hpp"\n', "lib/edit/plan.hpp: reaches kernels/cuda/launch.hpp"),
    ("lib/codec/json.cpp", "#include <hdf5.h>\n", "<hdf5.h> belongs to lib/codec/hdf5*"),
    ("lib/edit/json.cpp", "#include <nlohmann/json.hpp>\n", "<nlohmann/json.hpp> belongs to"),
    ("lib/report/line.cpp", "#include <CLI/CLI.hpp>\n", "<CLI/CLI.hpp> belongs to tools/command_line.cpp"),
    ("tools/verb_edit.cpp", "#include <CLI/CLI.hpp>\n", "<CLI/CLI.hpp> belongs to tools/command_line.cpp"),
    ("lib/edit/crc.cpp", "#include <zlib.h>\n", "<zlib.h> belongs to"),
    ("lib/container/pack.cpp", "#include <zstd.h>\n", "<zstd.h> belongs to"),
    ("lib/base/new.cpp", "#include <boost/any.hpp>\n", "<boost/any.hpp> has no owner"),
    ("lib/base/near.cpp", '#include "error.hpp"\n', '"error.hpp" is not the plain path'),
    ("lib/base/CMakeLists.txt", "tare_room(base\n  tare_edit)\n", "lib/base may not link lib/edit"),
    ("capi/src/gone.cpp", "#include <tare/gone.h>\n", '"tare/gone.h" is not the plain path'),
    ("lib/trace/shape.hpp", "namespace tare {\nstruct Error {\n};\n}  // namespace tare\n",
     "tare::Error is another type in lib/base/error.hpp"),
    ("lib/dialect/more.cpp", "namespace tare {\nnamespace {\nconstexpr auto marks = 1;\n}  // namespace\n}  // namespace tare\n",
     "marks is in the unnamed namespace of lib/dialect/frameworks/jmp.cpp, too"),
    ("lib/dialect/more.cpp", "namespace tare {\nnamespace {\nstruct Mark {\n};\n}  // namespace\n}  // namespace tare\n",
     "Mark is in the unnamed namespace of lib/dialect/frameworks/jmp.cpp, too"),
    ("lib/dialect/more.cpp", "namespace tare {\nnamespace {\nusing Form = int;\n}  // namespace\n}  // namespace tare\n",
     "Form is in the unnamed namespace of lib/dialect/alike.cpp, too"),
    ("kernels/cuda/more.cu", "namespace {\n}  // namespace\n",
     "kernels/cuda/more.cu:1: an unnamed namespace: give it the file's name, inline namespace more_cu"),
    ("tests/words_test.cpp", "CHECK_THAT(said, Catch::Matchers::EndsWith(end));\n", "Catch::Matchers is not in both majors"),
    ("lib/attic/old.hpp", "\n", "its room has no arrows"),
    ("lib/base/long.cpp", "\n" * 601, "601 lines, at most 600"),
    ("src/main.cpp", "\n", "src: does not belong at the top"),
    ("lib/json/reader.hpp", None, "lib/json: has arrows, and there is no such room"),
]


def offences_with(extra):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {**CLEAN, **extra}.items():
            if text is None:
                continue
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return list(layering.offences(root))


def main():
    wrong = [f"the clean tree is blamed: {line}" for line in offences_with({})]
    for name, text, said in OFFENCES:
        found = offences_with({name: text})
        if not any(said in line for line in found):
            wrong.append(f"{name} passes with {(text or '').strip()[:60]!r}; said: {found}")
    print("\n".join(wrong) or f"{len(OFFENCES)} offences, each one noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
