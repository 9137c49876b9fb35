// libtare_mpi.so: the table, with everything that can be thrown caught at its edge.
#include "kernels/backend_edge.hpp"
#include "lib/collective/mpi_module/group.hpp"
#include "lib/collective/mpi_table.h"

struct tare_mpi_group {
  tare::mpi::Group group;
};

namespace tare::mpi {
namespace {

using kernels::at_edge;

std::int32_t join(tare_mpi_group** out, const std::int32_t* communicator, double timeout_seconds,
                  tare_backend_error* error) {
  return at_edge(error, [&] {
    require_mpi();
    *out = new tare_mpi_group{{communicator_at(communicator), timeout_seconds}};
  });
}

void leave(tare_mpi_group* group) {
  delete group;
}

std::int32_t all_reduce(tare_mpi_group* group, void* data, std::uint64_t count, std::int32_t operation,
                        tare_backend_error* error) {
  return at_edge(error, [&] { group->group.all_reduce(data, count, operation); });
}

std::int32_t exchange(tare_mpi_group* group, std::int32_t what, const void* from, void* to, std::uint64_t bytes,
                      tare_backend_error* error) {
  return at_edge(error, [&] { group->group.exchange(what, from, to, bytes); });
}

constexpr tare_mpi_table table{sizeof(tare_mpi_table), TARE_RELEASE, join, leave, all_reduce, exchange};

}  // namespace
}  // namespace tare::mpi

extern "C" __attribute__((visibility("default"))) const tare_mpi_table* tare_mpi_module() {
  return &tare::mpi::table;
}
