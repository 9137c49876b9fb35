// As much of CUDA's runtime as the backend uses, over host memory: launches run the kernels' own code at once, block
// after block in random order. With it the whole backend and its tests run where there is no GPU. Memory comes filled
// with rubbish, and everything that is allocated must be freed.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/gpu/simulated/kernels.hpp"

namespace {

thread_local CUcontext current = nullptr;

CUresult get_context(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}

CUresult set_context(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

cudaError_t allocate(void** data, std::size_t size) {
  *data = std::malloc(size == 0 ? 1 : size);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*data, 0xab, size);
  return cudaSuccess;
}

struct Launch {
  const tare::kernels::test::SimulatedKernel* kernel;
  std::vector<unsigned char> argument;
  unsigned blocks;
  unsigned threads;
};

using Launches = std::vector<Launch>;

thread_local Launches* capture = nullptr;  // where launches go meanwhile

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(device + 1));
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = static_cast<int>(reinterpret_cast<std::uintptr_t>(current)) - 1;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 3;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 2;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = std::strcmp(name, "cuCtxGetCurrent") == 0 ? reinterpret_cast<void*>(&get_context)
                                                        : reinterpret_cast<void*>(&set_context);
  *result = cudaDriverEntryPointSuccess;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t size) {
  return allocate(data, size);
}
cudaError_t cudaMallocHost(void** data, size_t size) {
  return allocate(data, size);
}
cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  if (size != 0) std::memcpy(to, from, size);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, size, kind);
}
cudaError_t cudaMemset(void* data, int value, size_t size) {
  std::memset(data, value, size);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = capture == nullptr ? cudaStreamCaptureStatusNone : cudaStreamCaptureStatusActive;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = nullptr;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) {
  return "simulated";
}
const char* cudaGetErrorName(cudaError_t) {
  return "cudaErrorSimulated";
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  capture = new Launches;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(capture);
  capture = nullptr;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* replay, cudaGraph_t graph, unsigned long long) {
  *replay = reinterpret_cast<cudaGraphExec_t>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t replay, cudaStream_t) {
  for (const Launch& launch : *reinterpret_cast<Launches*>(replay)) {
    launch.kernel->run(launch.argument.data(), launch.blocks, launch.threads);
  }
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = reinterpret_cast<Launches*>(graph)->size();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) {
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Launches*>(graph);
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t, cudaStream_t) {
  const auto* simulated = static_cast<const tare::kernels::test::SimulatedKernel*>(kernel);
  if (capture == nullptr) {
    simulated->run(arguments[0], grid.x, block.x);
    return cudaSuccess;
  }
  const auto* argument = static_cast<const unsigned char*>(arguments[0]);
  capture->push_back({simulated, {argument, argument + simulated->argument_size}, grid.x, block.x});
  return cudaSuccess;
}
}
