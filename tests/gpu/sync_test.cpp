// Nothing on the host waits in a step: every call into the driver is counted while steps are made.
#include <cupti.h>
#include <dlfcn.h>

#include <map>
#include <string>

#include "tests/gpu/gpu.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

std::map<std::string, int> calls;  // while counting, by the driver function's name

void CUPTIAPI count(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (call->callbackSite == CUPTI_API_ENTER) ++calls[call->functionName];
}

/// libcupti, opened here so that the other tests run without it.
class Cupti {
 public:
  Cupti() : library_(dlopen("libcupti.so", RTLD_NOW)) {
    if (library_ == nullptr) library_ = dlopen(TARE_CUPTI_LIBRARY, RTLD_NOW);
    if (library_ == nullptr) return;
    works_ = find(&CuptiNames::subscribe, "cuptiSubscribe") && find(&CuptiNames::enable, "cuptiEnableDomain") &&
             find(&CuptiNames::unsubscribe, "cuptiUnsubscribe") &&
             names_.subscribe(&subscriber_, count, nullptr) == CUPTI_SUCCESS;
  }
  ~Cupti() {
    if (works_) names_.unsubscribe(subscriber_);
  }
  Cupti(const Cupti&) = delete;
  Cupti& operator=(const Cupti&) = delete;

  bool works() const { return works_; }
  void set_counting(bool on) { names_.enable(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API); }

 private:
  struct CuptiNames {
    decltype(&cuptiSubscribe) subscribe;
    decltype(&cuptiEnableDomain) enable;
    decltype(&cuptiUnsubscribe) unsubscribe;
  };

  template <class Function>
  bool find(Function CuptiNames::*into, const char* name) {
    names_.*into = reinterpret_cast<Function>(dlsym(library_, name));
    return names_.*into != nullptr;
  }

  void* library_;
  CuptiNames names_ = {};
  CUpti_SubscriberHandle subscriber_ = nullptr;
  bool works_ = false;
};

bool may_wait(const std::string& name) {
  for (const char* part : {"Synchronize", "Query", "Alloc", "Free", "Memcpy", "Memset", "WaitEvent"}) {
    if (name.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a step only launches: no wait, no copy, no allocation") {
  Cupti cupti;
  if (!cupti.works()) {
    WARN("NOT RUN: libcupti cannot be used here, so calls cannot be counted");
    return;
  }
  const GpuStream stream;
  std::vector<Array> arrays;
  std::vector<Array> moved;
  for (int i = 0; i < 5000; ++i) {
    arrays.emplace_back(Dtype::bf16, 100);
    moved.emplace_back(Dtype::bf16, 100);
  }
  const GpuArrays values(arrays);
  const GpuArrays moved_values(moved);
  cuda::DeviceScaler scaler(0, torch_at(1024));
  cuda::DeviceList list(scaler);
  list.assign(values.tensors());
  const std::vector<Tensor> first = values.tensors();
  const std::vector<Tensor> second = moved_values.tensors();
  const auto make_step = [&](int i) {
    list.rebind(i % 2 == 0 ? first : second);
    list.run({.pass = cuda::Pass::unscale}, stream);
    list.run({.pass = cuda::Pass::observe, .steps = true}, stream);
    cuda::PassRequest write{.pass = cuda::Pass::write, .clip_norm = 1.0};
    write.outputs = (i % 2 == 0 ? second : first).data();
    list.run(write, stream);
    cuda::CommandArguments asked;
    asked.command = cuda::Command::step;
    scaler.obey(asked, stream);
  };
  for (int i = 0; i < 4; ++i) make_step(i);
  stream.wait();
  cupti.set_counting(true);
  for (int i = 0; i < 100; ++i) make_step(i);
  cupti.set_counting(false);
  stream.wait();
  int launches = 0;
  for (const auto& [name, times] : calls) {
    INFO(name << " " << times << " times");
    CHECK_FALSE(may_wait(name));
    if (name.find("LaunchKernel") != std::string::npos) launches += times;
  }
  CHECK(launches >= 500);  // otherwise nothing was counted
}
