// As much of CUDA's runtime as the backend uses, over host memory, and as hard as CUDA's documentation lets it be: what
// is enqueued runs when somebody waits for it (streams.cpp), copies from pinned memory read it then, copies from other
// memory and memsets have only been enqueued on the legacy stream when they return. Memory comes filled with rubbish
// and is filled again when it goes. With it the whole backend and its tests run where there is no GPU.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "tests/gpu/simulated/faults.hpp"
#include "tests/gpu/simulated/machine.hpp"
#include "tests/gpu/simulated/streams.hpp"

using namespace tare::kernels::test;

namespace {

// ---- contexts: one device, whose number + 1 is its context

thread_local CUcontext current = nullptr;

CUresult get_context(CUcontext* context) {
  *context = current;
  return CUDA_SUCCESS;
}

CUresult set_context(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}

// ---- memory

struct Allocation {
  std::size_t size;
  bool pinned;
};

std::map<const char*, Allocation> allocations;

const Allocation* allocation_at(const void* data) {
  const auto* at = static_cast<const char*>(data);
  auto next = allocations.upper_bound(at);
  if (next == allocations.begin()) return nullptr;
  --next;
  return at < next->first + next->second.size ? &next->second : nullptr;
}
bool is_pinned(const void* data) {
  const Allocation* found = allocation_at(data);
  return found != nullptr && found->pinned;
}
bool is_on_device(const void* data) {
  const Allocation* found = allocation_at(data);
  return found != nullptr && !found->pinned;
}

cudaError_t allocate(void** data, std::size_t size, bool pinned) {
  const std::lock_guard guard(runtime_lock());
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  const std::size_t room = (size + 255) / 256 * 256 + 256;
  *data = std::aligned_alloc(256, room);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*data, 0xab, room);
  allocations[static_cast<char*>(*data)] = {size == 0 ? 1 : size, pinned};
  memory_is_made(*data, size == 0 ? 1 : size);
  return cudaSuccess;
}

// ---- copies

void require_places(const void* to, const void* from, cudaMemcpyKind kind) {
  if (kind == cudaMemcpyHostToDevice ? is_on_device(to) : is_on_device(from)) return;
  std::fprintf(stderr, "a copy whose device memory is none\n");
  std::abort();
}

Work copying(void* to, const void* from, std::size_t size) {
  return [=] { std::memcpy(to, from, size); };
}

/// From memory that is read before the call returns.
Work copying_staged(void* to, const void* from, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  const auto staged = std::make_shared<std::vector<unsigned char>>(bytes, bytes + size);
  return [=] { std::memcpy(to, staged->data(), size); };
}

// ---- errors that a test wants

int launches_until_failure = -1;
cudaError_t wanted_failure = cudaSuccess;
int capability = 9;

}  // namespace

void tare::kernels::test::say_capability(int major) {
  capability = major;
}

void tare::kernels::test::fail_a_launch(int after, cudaError_t error) {
  const std::lock_guard guard(runtime_lock());
  launches_until_failure = after;
  wanted_failure = error;
}

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
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  constexpr int processors = 3;
  *value = attribute == cudaDevAttrMultiProcessorCount ? processors : 0;
  if (attribute == cudaDevAttrComputeCapabilityMajor) *value = capability;
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const std::lock_guard guard(runtime_lock());
  *attributes = {};
  attributes->type = is_on_device(data) ? cudaMemoryTypeDevice
                     : is_pinned(data)  ? cudaMemoryTypeHost
                                        : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  const std::lock_guard guard(runtime_lock());
  *attributes = {};
  return pass_by_captures();  // may load the kernel
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int, size_t) {
  *blocks = 2;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12020;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *function = std::strcmp(name, "cuCtxGetCurrent") == 0 ? reinterpret_cast<void*>(&get_context)
                                                        : reinterpret_cast<void*>(&set_context);
  *result = cudaDriverEntryPointSuccess;
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

cudaError_t cudaMalloc(void** data, size_t size) {
  return allocate(data, size, false);
}
cudaError_t cudaMallocHost(void** data, size_t size) {
  return allocate(data, size, true);
}
cudaError_t cudaFree(void* data) {
  const std::lock_guard guard(runtime_lock());
  if (data == nullptr) return cudaSuccess;
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  finish_all();
  memory_goes(data);
  const auto found = allocations.find(static_cast<char*>(data));
  std::memset(data, 0xdd, found->second.size);
  allocations.erase(found);
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  if (size == 0) return cudaSuccess;
  require_places(to, from, kind);
  const bool takes_pinned = is_pinned(kind == cudaMemcpyHostToDevice ? from : to);
  if (takes_pinned) return enqueue(stream, copying(to, from, size));
  if (is_captured(stream)) return spoil(stream);
  if (kind == cudaMemcpyHostToDevice) return enqueue(stream, copying_staged(to, from, size));
  const cudaError_t result = enqueue(stream, copying(to, from, size));
  if (result == cudaSuccess) finish(stream);
  return result;
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind kind) {
  const std::lock_guard guard(runtime_lock());
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  finish(nullptr);
  const cudaError_t result = cudaMemcpyAsync(to, from, size, kind, nullptr);
  if (result == cudaSuccess && (kind == cudaMemcpyDeviceToHost || is_pinned(from))) finish(nullptr);
  return result;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t size, cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  return enqueue(stream, [=] { std::memset(data, value, size); });
}
cudaError_t cudaMemset(void* data, int value, size_t size) {
  const std::lock_guard guard(runtime_lock());
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  return cudaMemsetAsync(data, value, size, nullptr);
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, size_t, cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  if (launches_until_failure >= 0 && launches_until_failure-- == 0) return wanted_failure;
  const auto* given = static_cast<const unsigned char*>(arguments[0]);
  const std::vector<unsigned char> argument(given, given + argument_size(kernel));
  return enqueue(stream, [=] { run_kernel(kernel, argument.data(), grid.x, block.x); });
}
}
