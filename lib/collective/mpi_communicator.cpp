#include "lib/collective/mpi_communicator.hpp"

#include "lib/base/module.hpp"
#include "lib/codec/json.hpp"
#include "lib/collective/mpi_table.h"

namespace tare {
namespace {

const tare_mpi_table& mpi() {
  static ModuleTable<tare_mpi_table> table;
  return table.get({"libtare_mpi.so", TARE_MPI_ENTRY_POINT, TARE_RELEASE,
                    "It is built where CMake finds MPI (TARE_MPI), and lies beside libtare; "
                    "tare_comm_from_callbacks needs no module."});
}

template <class... Parameters, class... Arguments>
void call(std::int32_t (*function)(Parameters...), Arguments... arguments) {
  tare_backend_error error;
  if (function(arguments..., &error) == 0) return;
  throw Error(static_cast<Status>(error.status), error.message, error.hint, error.detail);
}

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(const MpiConfig& config) {
    const std::int32_t* const communicator = config.communicator ? &*config.communicator : nullptr;
    tare_mpi_group* group = nullptr;
    call(mpi().join, &group, communicator, config.timeout_seconds);
    group_.reset(group);
  }

  void require_device(int device) const override {
    if (device < 0) return;
    throw Error(Status::unsupported, "the comm is one of MPI's, and this computes on cuda:" + std::to_string(device),
                "Use tare_comm_from_nccl, or tare_comm_from_callbacks with device_memory.");
  }
  bool takes(Operation operation) const override {
    return operation == Operation::max_u64 || operation == Operation::sum_f64;
  }
  void require_exchange() const override {}
  void all_to_all(const void* from, void* to, std::uint64_t bytes, kernels::Stream) override {
    call(mpi().exchange, group_.get(), std::int32_t{TARE_MPI_ALL_TO_ALL}, from, to, bytes);
  }
  void all_gather(const void* from, void* to, std::uint64_t bytes, kernels::Stream) override {
    call(mpi().exchange, group_.get(), std::int32_t{TARE_MPI_ALL_GATHER}, from, to, bytes);
  }
  void require_fp8_sum() const override { refuse_fp8_sum("MPI has"); }
  void sum_fp8(void*, std::uint64_t, Dtype, kernels::Stream) override { require_fp8_sum(); }
  void reduce(std::span<const RankNumbers> parts, kernels::Stream) override {
    for (const RankNumbers& part : parts) all_reduce(part.data, part.count, part.operation);
  }

 private:
  struct Leave {
    void operator()(tare_mpi_group* group) const { mpi().leave(group); }
  };

  void all_reduce(void* data, std::size_t count, Operation operation) {
    call(mpi().all_reduce, group_.get(), data, count, static_cast<std::int32_t>(operation));
  }

  std::unique_ptr<tare_mpi_group, Leave> group_;
};

[[noreturn]] void refuse(const std::string& key) {
  throw Error(Status::invalid_argument, "the configuration has no \"" + key + "\" of that value",
              "Keys: communicator (MPI_Comm_c2f's number), timeout_seconds (above 0)");
}

std::int32_t handle_of(const std::string& key, const StateValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  const auto handle = number != nullptr ? static_cast<std::int32_t>(*number) : 0;
  if (number == nullptr || handle != *number) refuse(key);
  return handle;
}

double seconds_of(const std::string& key, const StateValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  const double seconds = whole != nullptr ? static_cast<double>(*whole) : number != nullptr ? *number : 0;
  if (!(seconds > 0)) refuse(key);
  return seconds;
}

}  // namespace

MpiConfig parse_mpi_config(const char* json) {
  MpiConfig config;
  if (json == nullptr || *json == '\0') return config;
  for (const auto& [key, value] : members_of_json(json, "the configuration")) {
    if (key == "communicator") {
      config.communicator = handle_of(key, value);
    } else if (key == "timeout_seconds") {
      config.timeout_seconds = seconds_of(key, value);
    } else {
      refuse(key);
    }
  }
  return config;
}

std::shared_ptr<Communicator> communicator_of(const MpiConfig& config) {
  return std::make_shared<MpiCommunicator>(config);
}

}  // namespace tare
