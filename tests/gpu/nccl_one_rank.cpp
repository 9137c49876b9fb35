// A scaler on cuda:0 with a comm of NCCL's own, of one rank, beside one without: 1,000 steps, and 1,000 replays of a
// captured one; and gradients that it sums in fp8, beside the CPU's. Needs a GPU and libnccl.so.2 (LD_LIBRARY_PATH),
// and says so where either is not there (exit 77).
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <tare/tare.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t elements = 100000;
constexpr int steps = 1000;
constexpr int not_run = 77;

// As nccl.h has them.
struct UniqueId {
  char bytes[128];
};
using GetVersion = int (*)(int*);
using GetUniqueId = int (*)(UniqueId*);
using CommInitRank = int (*)(void**, int, UniqueId, int);
using CommDestroy = int (*)(void*);

void must(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}
void must(cudaError_t result) {
  must(result == cudaSuccess, cudaGetErrorString(result));
}
void must(int32_t status, const tare_error& error) {
  must(status == TARE_OK, error.message);
}

template <class Function>
Function function_of(void* library, const char* name) {
  void* const found = dlsym(library, name);
  must(found != nullptr, name);
  return reinterpret_cast<Function>(found);
}

/// An ncclComm_t of one rank on the device that is current.
class OneRank {
 public:
  explicit OneRank(void* library) : destroy_(function_of<CommDestroy>(library, "ncclCommDestroy")) {
    UniqueId id;
    must(function_of<GetVersion>(library, "ncclGetVersion")(&version_) == 0, "ncclGetVersion");
    std::printf("NCCL %d\n", version_);
    must(function_of<GetUniqueId>(library, "ncclGetUniqueId")(&id) == 0, "ncclGetUniqueId");
    must(function_of<CommInitRank>(library, "ncclCommInitRank")(&comm_, 1, id, 0) == 0, "ncclCommInitRank");
  }
  ~OneRank() { destroy_(comm_); }
  OneRank(const OneRank&) = delete;
  OneRank& operator=(const OneRank&) = delete;
  [[nodiscard]] void* get() const { return comm_; }
  [[nodiscard]] int version() const { return version_; }

 private:
  CommDestroy destroy_;
  void* comm_ = nullptr;
  int version_ = 0;
};

class Trained {
 public:
  Trained() {
    must(cudaMalloc(reinterpret_cast<void**>(&values_), elements * sizeof(float)));
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    must(tare_scaler_create(&scaler_, R"({"policy":"torch","growth_interval":7,"device":"cuda:0"})", &error_), error_);
    const tare_tensor tensor{values_, elements, TARE_F32, 0};
    must(tare_grads_create(&grads_, scaler_, &tensor, 1, &error_), error_);
  }
  ~Trained() {
    tare_grads_destroy(grads_);
    tare_scaler_destroy(scaler_);
    cudaStreamDestroy(stream_);
    cudaFree(values_);
  }
  Trained(const Trained&) = delete;
  Trained& operator=(const Trained&) = delete;

  void join(const tare_comm* comm) { must(tare_scaler_set_comm(scaler_, comm, nullptr, &error_), error_); }
  void fill(const std::vector<float>& values) {
    must(cudaMemcpyAsync(values_, values.data(), elements * sizeof(float), cudaMemcpyHostToDevice, stream_));
  }
  void enqueue_step() { must(tare_grads_unscale_and_update(grads_, stream_, &error_), error_); }
  void capture() {
    cudaGraph_t graph = nullptr;
    must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    enqueue_step();
    must(cudaStreamEndCapture(stream_, &graph));
    must(cudaGraphInstantiate(&replay_, graph, 0));
    cudaGraphDestroy(graph);
  }
  void replay() { must(cudaGraphLaunch(replay_, stream_)); }
  void wait() { must(cudaStreamSynchronize(stream_)); }
  std::string told() {
    tare_text* text = nullptr;
    must(tare_scaler_statistics(&text, scaler_, stream_, &error_), error_);
    std::string copy = tare_text_data(text);
    tare_text_destroy(text);
    return copy;
  }

 private:
  float* values_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t replay_ = nullptr;
  tare_scaler* scaler_ = nullptr;
  tare_grads* grads_ = nullptr;
  tare_error error_ = TARE_ERROR_INIT;
};

class Sums {
 public:
  Sums(const std::string& device, const tare_comm* comm) {
    const std::string config = R"({"policy":"fp8_lm","slots":1,"format":"e4m3","device":")" + device + "\"}";
    must(tare_fp8_create(&slots_, config.c_str(), &error_), error_);
    must(tare_fp8_set_comm(slots_, comm, &error_), error_);
  }
  ~Sums() { tare_fp8_destroy(slots_); }
  Sums(const Sums&) = delete;
  Sums& operator=(const Sums&) = delete;

  void all_reduce(float* values, const char* options) const {
    const tare_tensor tensor{values, elements, TARE_F32, 0};
    tare_error error = TARE_ERROR_INIT;
    must(tare_fp8_all_reduce(slots_, &tensor, nullptr, 1, options, nullptr, &error), error);
    must(tare_fp8_update(slots_, nullptr, &error), error);
  }
  [[nodiscard]] std::string told() const {
    tare_text* text = nullptr;
    tare_error error = TARE_ERROR_INIT;
    must(tare_fp8_statistics(&text, slots_, nullptr, &error), error);
    std::string copy = tare_text_data(text);
    tare_text_destroy(text);
    return copy;
  }

 private:
  tare_fp8* slots_ = nullptr;
  tare_error error_ = TARE_ERROR_INIT;
};

/// How often the two did not tell the same after `step`.
template <class Run>
int differences(Trained& joined, Trained& alone, std::mt19937& random, const Run& run) {
  std::vector<float> values(elements);
  int different = 0;
  for (int i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < elements; k += 97) values[k] = static_cast<float>(random() % 1000) - 500;
    values[random() % elements] = random() % 10 == 0 ? INFINITY : 1.0f;
    for (Trained* one : {&joined, &alone}) {
      one->fill(values);
      run(*one);
    }
    if (joined.told() != alone.told()) ++different;
    for (float& value : values) value = 0;
  }
  return different;
}

/// Gradients that a rank sums in fp8 with itself, on the card by NCCL, beside the CPU's by functions; how often the
/// values or the slots came out different. `adder`: an option, which the CPU has not.
int differences_of_sums(const tare_comm* comm, const char* adder, std::mt19937& random) {
  const tare_collectives functions{sizeof functions,
                                   nullptr,
                                   [](void*, void*, uint64_t, int32_t, tare_stream) { return int32_t{0}; },
                                   0,
                                   [](void*, const void* from, void* to, uint64_t bytes, tare_stream) {
                                     std::memcpy(to, from, bytes);
                                     return int32_t{0};
                                   },
                                   [](void*, const void* from, void* to, uint64_t bytes, tare_stream) {
                                     std::memcpy(to, from, bytes);
                                     return int32_t{0};
                                   }};
  tare_error error = TARE_ERROR_INIT;
  tare_comm* alone = nullptr;
  must(tare_comm_from_callbacks(&alone, &functions, &error), error);
  const Sums joined("cuda:0", comm);
  const Sums host("cpu", alone);
  tare_comm_destroy(alone);
  float* on_card = nullptr;
  must(cudaMalloc(reinterpret_cast<void**>(&on_card), elements * sizeof(float)));
  std::vector<float> values(elements);
  std::vector<float> copy(elements);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    for (float& value : values) value = std::ldexp(static_cast<float>(random() % 2001) - 1000, -20);
    must(cudaMemcpy(on_card, values.data(), elements * sizeof(float), cudaMemcpyHostToDevice));
    must(cudaDeviceSynchronize());
    joined.all_reduce(on_card, adder);
    host.all_reduce(values.data(), nullptr);
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(copy.data(), on_card, elements * sizeof(float), cudaMemcpyDeviceToHost));
    if (std::memcmp(copy.data(), values.data(), elements * sizeof(float)) != 0 || joined.told() != host.told()) {
      ++different;
    }
  }
  cudaFree(on_card);
  return different;
}

double microseconds_a_step(Trained& one) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) one.enqueue_step();
  one.wait();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / steps;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("NOT RUN: no GPU on this machine");
    return not_run;
  }
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::puts("NOT RUN: no libnccl.so.2 (LD_LIBRARY_PATH)");
    return not_run;
  }
  must(cudaSetDevice(0));
  const OneRank rank(library);
  Trained joined;
  Trained alone;
  tare_error error = TARE_ERROR_INIT;
  tare_comm* comm = nullptr;
  must(tare_comm_from_nccl(&comm, rank.get(), &error), error);
  joined.join(comm);
  std::mt19937 random(1);
  const int sums = differences_of_sums(comm, nullptr, random);
  std::printf("100 sums of gradients in fp8, %d different from the CPU's\n", sums);
  cudaDeviceProp card{};
  must(cudaGetDeviceProperties(&card, 0));
  int by_engine = 0;
  if (rank.version() >= 22400 && card.major >= 9) {
    by_engine = differences_of_sums(comm, R"({"adder":"engine"})", random);
    std::printf("100 of NCCL's own sums of fp8, %d different\n", by_engine);
  }
  tare_comm_destroy(comm);
  const int eager = differences(joined, alone, random, [](Trained& one) { one.enqueue_step(); });
  joined.capture();
  alone.capture();
  const int replayed = differences(joined, alone, random, [](Trained& one) { one.replay(); });
  std::printf("%d steps, %d different; %d replays, %d different\n", steps, eager, steps, replayed);
  std::printf("microseconds a step: %.1f alone, %.1f with a comm\n", microseconds_a_step(alone),
              microseconds_a_step(joined));
  return eager + replayed + sums + by_engine == 0 ? 0 : 1;
}
