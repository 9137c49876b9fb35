"""libtare as a package of Conan 2, made of this source tree and of the libraries that the system has (tools/packages.sh names Debian's).

    conan create tools/conan --build=missing -o "tare/*:shared=True"

Whoever requires it finds tare's own CMake package: find_package(tare), tare::tare. For others there is tare.pc, and the
names of what to link.
"""
import pathlib
import re
import shutil
import subprocess

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt

NEEDED = ["CMakeLists.txt", "LICENSE", "kernels/*", "lib/*", "capi/*", "tools/old_glibc/*"]


class Tare(ConanFile):
    name = "tare"
    description = "Reads, fixes and runs the loss scalers of mixed-precision training"
    license = "MIT"
    topics = ("loss-scaler", "mixed-precision", "checkpoint")
    package_type = "library"
    test_package_folder = "../../tests/conan"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "hdf5": [True, False]}
    default_options = {"shared": True, "hdf5": False}

    @property
    def tree(self):
        return pathlib.Path(self.recipe_folder).parents[1]

    def set_version(self):
        self.version = re.search(r"project\(tare VERSION ([0-9.]+)", load(self, self.tree / "CMakeLists.txt"))[1]

    def export(self):
        for script in ("packages.sh", "notices.py"):
            copy(self, script, src=self.tree / "tools", dst=self.export_folder)

    def export_sources(self):
        for pattern in NEEDED:
            copy(self, pattern, src=self.tree, dst=self.export_sources_folder, excludes=("*__pycache__*",))

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")  # others see the C ABI alone

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration(f"tare is for Linux on x86_64 and armv8, not {self.settings.os} on {self.settings.arch}")

    def system_packages(self):
        """Debian's, of what is linked in."""
        groups = ["library"] + (["hdf5"] if self.options.hdf5 else [])
        names = subprocess.run(["bash", pathlib.Path(self.recipe_folder, "packages.sh"), "names", *groups], check=True,
                               capture_output=True, text=True)
        return names.stdout.split()

    def system_requirements(self):
        Apt(self).install(self.system_packages(), check=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update({
            "TARE_SHARED": bool(self.options.shared), "TARE_HDF5": bool(self.options.hdf5),
            "TARE_COMMAND": False, "TARE_CUDA": "off", "TARE_MPI": "off"})
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        licences = pathlib.Path(self.package_folder, "licenses")
        copy(self, "LICENSE", src=self.source_folder, dst=licences)
        if shutil.which("dpkg-query") is None:
            self.output.warning("the licences of the libraries that are linked in are not known here, and not in the package: "
                                "Debian's packages have them")
            return
        notices = pathlib.Path(self.recipe_folder, "notices.py")
        subprocess.run(["python3", notices, self.version, licences, *self.system_packages()], check=True)

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/tare"]
        self.cpp_info.libs = ["tare"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["stdc++", "m", "dl", "pthread"]
