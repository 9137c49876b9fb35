#include <tare/comm.h>

#include <cstddef>

#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/collective/communicator.hpp"
#include "lib/collective/mpi_communicator.hpp"
#include "lib/collective/nccl_communicator.hpp"

using namespace tare;
using namespace tare::capi;

static_assert(TARE_MAX_U64 == static_cast<int>(Operation::max_u64));
static_assert(TARE_SUM_F64 == static_cast<int>(Operation::sum_f64));

namespace {

Collectives collectives_of(const tare_collectives& given) {
  constexpr std::size_t first_size = offsetof(tare_collectives, device_memory);
  if (given.struct_size < first_size) {
    throw Error(Status::invalid_argument, "collectives: struct_size is " + std::to_string(given.struct_size),
                "Set it to sizeof(tare_collectives).");
  }
  if (given.all_reduce == nullptr) throw Error(Status::invalid_argument, "collectives: all_reduce is NULL");
  if (given.struct_size < sizeof(tare_collectives)) return {given.context, given.all_reduce};
  return {given.context, given.all_reduce, given.device_memory != 0, given.all_to_all, given.all_gather};
}

}  // namespace

int32_t tare_comm_from_callbacks(tare_comm** out, const tare_collectives* collectives, tare_error* error) {
  return guard_making(out, error, [&] {
    require(collectives, "collectives");
    return new tare_comm{.communicator = communicator_of(collectives_of(*collectives))};
  });
}

int32_t tare_comm_from_mpi(tare_comm** out, const char* config_json, tare_error* error) {
  return guard_making(out, error,
                      [&] { return new tare_comm{.communicator = communicator_of(parse_mpi_config(config_json))}; });
}

int32_t tare_comm_from_nccl(tare_comm** out, void* nccl_comm, tare_error* error) {
  return guard_making(out, error, [&] {
    require(nccl_comm, "nccl_comm");
    return new tare_comm{.communicator = communicator_of_nccl(nccl_comm)};
  });
}

void tare_comm_destroy(tare_comm* comm) {
  destroy(comm);
}

int32_t tare_scaler_set_comm(tare_scaler* scaler, const tare_comm* comm, const char* options_json, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    if (comm != nullptr) require(comm, "comm");
    const Gradients gradients = parse_reduction_options(options_json);
    scaler->scaler->set_communicator(comm != nullptr ? comm->communicator : nullptr, gradients);
  });
}

int32_t tare_fp8_set_comm(tare_fp8* fp8, const tare_comm* comm, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    if (comm != nullptr) require(comm, "comm");
    fp8->slots->set_communicator(comm != nullptr ? comm->communicator : nullptr);
  });
}

int32_t tare_fp8_all_reduce(tare_fp8* fp8, const tare_tensor* gradients, const uint32_t* slots, uint64_t count,
                            const char* options_json, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    fp8->slots->all_reduce(tensors_of(gradients, count), slots, parse_all_reduce_options(options_json), stream);
  });
}
