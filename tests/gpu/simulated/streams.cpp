#include "tests/gpu/simulated/streams.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace tare::kernels::test {
namespace {

/// Work, or a gate.
struct Task {
  Work work;
  std::function<Gate()> make_gate;
};
using Graph = std::vector<Task>;

struct Standing {
  std::uint64_t number;
  Work work;
  Gate gate;
};
constexpr auto all = std::numeric_limits<std::uint64_t>::max();

struct Capture {
  unsigned long long id;
  cudaStreamCaptureMode mode;
  std::thread::id thread;
  bool lost = false;
  Graph graph;
};

/// Its work is numbered through all streams, in the order of the calls.
struct Stream {
  unsigned long long id;
  bool is_legacy;
  bool blocks;  // is in order with the legacy stream
  std::deque<Standing> todo;
  bool runs;
  std::unique_ptr<Capture> capture;
};

struct Event {
  Stream* stream = nullptr;
  std::uint64_t number = 0;
};

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
std::uint64_t enqueued = 0;
unsigned long long captures = 0;

/// Streams that are destroyed keep what they have still to do; their handles are given out again.
class Streams {
 public:
  Streams() { make(false).is_legacy = true; }

  Stream& make(bool blocks) {
    all_.push_back(std::make_unique<Stream>(Stream{all_.size() + 1, false, blocks, {}, false, nullptr}));
    return *all_.back();
  }
  cudaStream_t handle_of(Stream& stream) {
    std::uintptr_t handle = 0x1000 + 16 * by_handle_.size();
    for (const auto& [used, owner] : by_handle_) {
      if (owner == nullptr) handle = used;
    }
    by_handle_[handle] = &stream;
    return reinterpret_cast<cudaStream_t>(handle);
  }
  /// Null where there is no such stream.
  Stream* find(cudaStream_t handle) {
    if (handle == nullptr || handle == cudaStreamLegacy) return all_.front().get();
    const auto found = by_handle_.find(reinterpret_cast<std::uintptr_t>(handle));
    return found == by_handle_.end() ? nullptr : found->second;
  }
  void forget(cudaStream_t handle) { by_handle_.at(reinterpret_cast<std::uintptr_t>(handle)) = nullptr; }
  const std::vector<std::unique_ptr<Stream>>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<Stream>> all_;
  std::map<std::uintptr_t, Stream*> by_handle_;
};

Streams& streams() {
  static Streams made;
  return made;
}

[[noreturn]] void not_simulated(const char* what) {
  std::fprintf(stderr, "not simulated: %s\n", what);
  std::abort();
}

void finish_up_to(Stream& stream, std::uint64_t number);

bool is_ready(const Stream& stream) {
  return !stream.runs && !stream.todo.empty() && (!stream.todo.front().gate || stream.todo.front().gate());
}

/// Work on the legacy stream waits for what was enqueued before it on streams that block, and the other way round.
void run_next(Stream& stream) {
  const Standing next = std::move(stream.todo.front());
  stream.todo.pop_front();
  stream.runs = true;
  for (const auto& other : streams().all()) {
    const bool in_order = (stream.is_legacy && other->blocks) || (stream.blocks && other->is_legacy);
    if (in_order) finish_up_to(*other, next.number);
  }
  if (next.work) next.work();
  stream.runs = false;
}

bool others_go_on(const Stream& than) {
  bool any = false;
  for (const auto& other : streams().all()) {
    for (; other.get() != &than && is_ready(*other); any = true) run_next(*other);
  }
  return any;
}

/// Other threads may bring what a gate waits for.
void wait_for_other_threads() {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point last_progress;
  static std::uint64_t enqueued_then = 0;
  if (std::exchange(enqueued_then, enqueued) != enqueued) last_progress = Clock::now();
  if (Clock::now() - last_progress > std::chrono::seconds(20)) not_simulated("streams that wait for ever");
  runtime_lock().unlock();
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  runtime_lock().lock();
}

/// Runs what stands in a stream up to a number.
void finish_up_to(Stream& stream, std::uint64_t number) {
  while (!stream.runs && !stream.todo.empty() && stream.todo.front().number <= number) {
    if (is_ready(stream)) {
      run_next(stream);
    } else if (!others_go_on(stream) && !is_ready(stream)) {
      wait_for_other_threads();
    }
  }
}

bool blocking_stream_is_captured() {
  for (const auto& stream : streams().all()) {
    if (stream->blocks && stream->capture != nullptr) return true;
  }
  return false;
}

cudaError_t stand(cudaStream_t handle, Task task) {
  Stream* stream = streams().find(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (stream->is_legacy && blocking_stream_is_captured()) {
    for (const auto& other : streams().all()) {
      if (other->blocks && other->capture != nullptr) other->capture->lost = true;
    }
    return cudaErrorStreamCaptureImplicit;
  }
  if (stream->capture == nullptr) {
    stream->todo.push_back({++enqueued, std::move(task.work), task.make_gate ? task.make_gate() : Gate()});
    return cudaSuccess;
  }
  if (stream->capture->lost) return cudaErrorStreamCaptureInvalidated;
  stream->capture->graph.push_back(std::move(task));
  return cudaSuccess;
}

}  // namespace

std::recursive_mutex& runtime_lock() {
  static std::recursive_mutex lock;
  return lock;
}

cudaError_t enqueue(cudaStream_t stream, Work work) {
  return stand(stream, {std::move(work), nullptr});
}

cudaError_t enqueue_gate(cudaStream_t stream, std::function<Gate()> make) {
  const std::lock_guard guard(runtime_lock());
  return stand(stream, {nullptr, std::move(make)});
}

void finish(cudaStream_t stream) {
  finish_up_to(*streams().find(stream), all);
}

void finish_all() {
  for (const auto& stream : streams().all()) finish_up_to(*stream, all);
}

bool is_captured(cudaStream_t stream) {
  const Stream* found = streams().find(stream);
  return found != nullptr && found->capture != nullptr;
}

cudaError_t spoil(cudaStream_t stream) {
  streams().find(stream)->capture->lost = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t pass_by_captures() {
  cudaError_t answer = cudaSuccess;
  for (const auto& stream : streams().all()) {
    if (stream->capture == nullptr || thread_mode == cudaStreamCaptureModeRelaxed) continue;
    const bool is_own = stream->capture->thread == std::this_thread::get_id();
    const bool is_hit =
        (is_own && stream->capture->mode != cudaStreamCaptureModeRelaxed) ||
        (thread_mode == cudaStreamCaptureModeGlobal && stream->capture->mode == cudaStreamCaptureModeGlobal);
    if (!is_hit) continue;
    stream->capture->lost = true;
    answer = cudaErrorStreamCaptureUnsupported;
  }
  return answer;
}

}  // namespace tare::kernels::test

using namespace tare::kernels::test;

namespace {

cudaError_t capture_of(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
  const std::lock_guard guard(runtime_lock());
  const Stream* found = streams().find(stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (found->is_legacy && blocking_stream_is_captured()) return cudaErrorStreamCaptureImplicit;
  *status = cudaStreamCaptureStatusNone;
  if (found->capture == nullptr) return cudaSuccess;
  *status = found->capture->lost ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  if (id != nullptr) *id = found->capture->id;
  return cudaSuccess;
}

}  // namespace

extern "C" {

// ---- streams

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const std::lock_guard guard(runtime_lock());
  *stream = streams().handle_of(streams().make(flags != cudaStreamNonBlocking));
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  streams().forget(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  const std::lock_guard guard(runtime_lock());
  const Stream* found = streams().find(stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  *id = found->id;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  if (streams().find(stream) == nullptr) return cudaErrorInvalidResourceHandle;
  if (is_captured(stream)) return spoil(stream);
  finish(stream);
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard guard(runtime_lock());
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  finish_all();
  return cudaSuccess;
}

// ---- events: an event is the place in its stream that was recorded last

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Event*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  if (is_captured(stream)) not_simulated("an event that is recorded in a capture");
  *reinterpret_cast<Event*>(event) = {streams().find(stream), enqueued};
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const std::lock_guard guard(runtime_lock());
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  const Event recorded = *reinterpret_cast<Event*>(event);
  if (recorded.stream != nullptr) finish_up_to(*recorded.stream, recorded.number);
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::lock_guard guard(runtime_lock());
  if (const cudaError_t lost = pass_by_captures(); lost != cudaSuccess) return lost;
  const Event recorded = *reinterpret_cast<Event*>(event);
  if (recorded.stream == nullptr) return cudaSuccess;
  const Stream& stream = *recorded.stream;
  const bool has_run = !stream.runs && (stream.todo.empty() || stream.todo.front().number > recorded.number);
  return has_run ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const std::lock_guard guard(runtime_lock());
  if (is_captured(stream)) not_simulated("an event that a capture waits for");
  const Event recorded = *reinterpret_cast<Event*>(event);
  if (recorded.stream == nullptr) return cudaSuccess;
  return enqueue(stream, [recorded] { finish_up_to(*recorded.stream, recorded.number); });
}

// ---- captures and graphs

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  std::swap(*mode, thread_mode);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const std::lock_guard guard(runtime_lock());
  Stream* found = streams().find(stream);
  if (found == nullptr || found->is_legacy || found->capture != nullptr) return cudaErrorStreamCaptureUnsupported;
  found->capture = std::make_unique<Capture>(Capture{++captures, mode, std::this_thread::get_id(), false, {}});
  return cudaSuccess;
}
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t*, const cudaGraphNode_t**, const cudaGraphEdgeData**, size_t*) {
  return capture_of(stream, status, id);
}
#else
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t*, const cudaGraphNode_t**, size_t*) {
  return capture_of(stream, status, id);
}
#endif
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return capture_of(stream, status, nullptr);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  const std::lock_guard guard(runtime_lock());
  const std::unique_ptr<Capture> capture = std::move(streams().find(stream)->capture);
  *graph = nullptr;
  if (capture == nullptr) return cudaErrorIllegalState;
  if (capture->lost) return cudaErrorStreamCaptureInvalidated;
  *graph = reinterpret_cast<cudaGraph_t>(new Graph(std::move(capture->graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* replay, cudaGraph_t graph, unsigned long long) {
  *replay = reinterpret_cast<cudaGraphExec_t>(new Graph(*reinterpret_cast<Graph*>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t replay, cudaStream_t stream) {
  const std::lock_guard guard(runtime_lock());
  if (is_captured(stream)) not_simulated("a graph in a capture");
  for (const Task& task : *reinterpret_cast<Graph*>(replay)) {
    if (const cudaError_t refused = stand(stream, task); refused != cudaSuccess) return refused;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = reinterpret_cast<Graph*>(graph)->size();
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t replay) {
  delete reinterpret_cast<Graph*>(replay);
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Graph*>(graph);
  return cudaSuccess;
}
}
