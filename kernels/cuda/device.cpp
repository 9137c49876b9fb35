#include "kernels/cuda/device.hpp"

#include <algorithm>

namespace tare::kernels::cuda {
namespace {

/// Errors after which a context answers nothing else: some kernel before us went wrong.
bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
#if CUDART_VERSION >= 12060
    case cudaErrorContained:
#endif
      return true;
    default:
      return false;
  }
}

std::string in_words(cudaError_t code) {
  return std::string(cudaGetErrorString(code)) + " (" + cudaGetErrorName(code) + ")";
}

/// 12020: "12.2".
std::string version_in_words(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

/// Which driver there is, and which one is needed: a runtime takes every driver of its major version, and later ones.
std::string drivers() {
  int found = 0;
  cudaDriverGetVersion(&found);  // 0: there is none
  const std::string release = CUDART_VERSION >= 13000 ? "580" : "525";
  return std::string("; the driver found ") + (found == 0 ? "is none" : "is one for CUDA " + version_in_words(found)) +
         ", needed is one for CUDA " + version_in_words(CUDART_VERSION / 1000 * 1000) + ", release " + release +
         " or later";
}

/// What to know besides CUDA's own words.
std::string explanation(cudaError_t code) {
  if (code == cudaErrorInsufficientDriver) return drivers();
  if (code != cudaErrorInvalidResourceHandle) return "";
  return "; a stream must be one of the device's primary context, that of the CUDA runtime";
}

/// Two functions of the driver, found through the runtime: libcuda is not there to be linked on every machine.
struct ContextFunctions {
  CUresult (*get)(CUcontext*) = nullptr;
  CUresult (*set)(CUcontext) = nullptr;
};

void* driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult answer = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &answer), "find the driver");
#else
  check(cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &answer), "find the driver");
#endif
  if (answer != cudaDriverEntryPointSuccess) {
    throw Failure(std::string("CUDA: the driver has no ") + name, cudaErrorSymbolNotFound);
  }
  return found;
}

const ContextFunctions& context_functions() {
  static const ContextFunctions functions = {
      reinterpret_cast<CUresult (*)(CUcontext*)>(driver_function("cuCtxGetCurrent")),
      reinterpret_cast<CUresult (*)(CUcontext)>(driver_function("cuCtxSetCurrent"))};
  return functions;
}

}  // namespace

void check(cudaError_t result, const char* tried) {
  if (result == cudaSuccess) return;
  cudaGetLastError();  // ours, and told here: nobody else shall find it
  if (is_sticky(result)) {
    throw Failure("CUDA: the device had failed before tare could " + std::string(tried) + ": " + in_words(result) +
                      "; an earlier kernel of this process went wrong, perhaps not tare's",
                  result);
  }
  throw Failure("CUDA: cannot " + std::string(tried) + ": " + in_words(result) + explanation(result), result);
}

Capture capture_of(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  Capture capture = no_capture;
  check(cudaStreamGetCaptureInfo(stream, &status, &capture), "ask whether the stream is captured");
  if (status == cudaStreamCaptureStatusNone) return no_capture;
  if (status == cudaStreamCaptureStatusActive) return capture;
  throw Failure("CUDA: the capture of the stream was lost before", cudaErrorStreamCaptureInvalidated);
}

void require_uncaptured(cudaStream_t stream) {
  if (capture_of(stream) == no_capture) return;
  throw Failure("CUDA: a call that waits for a stream cannot be made while that stream is captured",
                cudaErrorStreamCaptureUnsupported);
}

OnDevice::OnDevice(int ordinal) {
  const ContextFunctions& functions = context_functions();
  if (functions.get(&before_) != CUDA_SUCCESS) before_ = nullptr;
  const cudaError_t result = cudaSetDevice(ordinal);
  if (result == cudaSuccess) return;
  functions.set(before_);
  check(result, "make the device current");
}

OnDevice::~OnDevice() {
  context_functions().set(before_);
}

Device::Device(int ordinal) : ordinal_(ordinal) {
  int count = 0;
  check(cudaGetDeviceCount(&count), "find a device");
  if (ordinal < 0 || ordinal >= count) {
    throw Failure(
        "CUDA: there is no device cuda:" + std::to_string(ordinal) + ": the driver has " + std::to_string(count),
        cudaErrorInvalidDevice);
  }
  const OnDevice here(ordinal);
  load_kernels();
  check(cudaStreamCreateWithFlags(&own_stream_, cudaStreamNonBlocking), "make a stream");
}

Device::~Device() {
  cudaStreamDestroy(own_stream_);
}

void Device::finish_own() const {
  check(cudaStreamSynchronize(own_stream_), "wait for a stream");
}

void Device::load_kernels() {
  check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, ordinal_), "ask for its size");
  const auto load = [&](Kernel kernel) {
    const auto end = loaded_ + loaded_count_;
    if (std::any_of(loaded_, end, [&](const Loaded& known) { return known.kernel == kernel; })) return;
    cudaFuncAttributes attributes;
    check(cudaFuncGetAttributes(&attributes, kernel), "load a kernel");
    int together = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&together, kernel, block_threads, 0), "load a kernel");
    loaded_[loaded_count_++] = {kernel, static_cast<unsigned>(std::max(1, together * multiprocessors_))};
  };
  for_each_kernel(load);
}

unsigned Device::blocks_for(Kernel kernel, std::uint64_t wanted) const {
  const auto loaded =
      std::find_if(loaded_, loaded_ + loaded_count_, [&](const Loaded& known) { return known.kernel == kernel; });
  return static_cast<unsigned>(std::clamp<std::uint64_t>(wanted, 1, loaded->resident));
}

unsigned Device::most_blocks() const {
  unsigned most = 1;
  for (int i = 0; i < loaded_count_; ++i) most = std::max(most, loaded_[i].resident);
  return most;
}

void Device::launch(Kernel kernel, unsigned blocks, unsigned thread_count, const void* argument,
                    cudaStream_t stream) const {
  void* arguments[] = {const_cast<void*>(argument)};
  check(cudaLaunchKernel(kernel, dim3(blocks), dim3(thread_count), arguments, 0, stream), "launch a kernel");
}

}  // namespace tare::kernels::cuda
