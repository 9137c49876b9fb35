#include "lib/collective/nccl_library.hpp"

#include <dlfcn.h>

#include <string>

#include "lib/base/error.hpp"
#include "lib/base/own_file.hpp"

namespace tare {
namespace {

constexpr int least_version = 20900;
constexpr int next_major = 30000;
constexpr int first_with_fp8 = 22400;

[[noreturn]] void fail(const std::string& what) {
  throw Error(Status::unsupported, what,
              "The communicator must be one of a libnccl.so.2 that this process has loaded.");
}

/// The program's own, or that of libraries it was linked with; else one that was opened later, as torch does it.
void* loaded_library() {
  if (is_static_program()) fail("a program without a loader has no NCCL that tare can find");
  if (dlsym(RTLD_DEFAULT, "ncclAllReduce") != nullptr) return RTLD_DEFAULT;
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library == nullptr) fail("this process has not loaded libnccl.so.2");
  return library;
}

template <class Function>
void find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
  if (into == nullptr) fail("the NCCL of this process has no " + std::string(name));
}

/// 22809: "2.28.9"; before 2.9 it was 2804 for 2.8.4.
std::string version_in_words(int version) {
  const int step = version < 10000 ? 1000 : 10000;
  return std::to_string(version / step) + "." + std::to_string(version % step / 100) + "." +
         std::to_string(version % 100);
}

int version_of(const NcclLibrary& nccl) {
  int version = 0;
  if (nccl.version(&version) != 0) fail("the NCCL of this process does not tell its version");
  return version;
}

void require_version(const NcclLibrary& nccl) {
  const int version = version_of(nccl);
  if (version >= least_version && version < next_major) return;
  throw Error(Status::unsupported, "the NCCL of this process is " + version_in_words(version),
              "Use NCCL 2.9 or a later one of version 2.");
}

}  // namespace

NcclLibrary nccl_of_process() {
  void* const library = loaded_library();
  NcclLibrary nccl{};
  find(library, "ncclGetVersion", nccl.version);
  require_version(nccl);
  find(library, "ncclGetErrorString", nccl.text_of);
  find(library, "ncclCommCuDevice", nccl.device_of);
  find(library, "ncclCommGetAsyncError", nccl.failure_of);
  find(library, "ncclGroupStart", nccl.group_start);
  find(library, "ncclGroupEnd", nccl.group_end);
  find(library, "ncclAllReduce", nccl.all_reduce);
  find(library, "ncclAllGather", nccl.all_gather);
  find(library, "ncclSend", nccl.send);
  find(library, "ncclRecv", nccl.receive);
  find(library, "ncclCommCount", nccl.count_ranks);
  return nccl;
}

void require_fp8(const NcclLibrary& nccl) {
  const int version = version_of(nccl);
  if (version >= first_with_fp8) return;
  throw Error(Status::unsupported,
              "the NCCL of this process is " + version_in_words(version) + ", which has no sum of fp8",
              "Use NCCL 2.24 or later, or leave the option \"adder\" out.");
}

}  // namespace tare
