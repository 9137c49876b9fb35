// libtare_cuda.so: the table, with everything that can be thrown caught at its edge.
#include <cstring>
#include <new>

#include "kernels/backend_edge.hpp"
#include "kernels/cuda/fp8.hpp"
#include "kernels/cuda/gradient_sums.hpp"
#include "kernels/cuda/list.hpp"
#include "kernels/cuda/looks.hpp"
#include "kernels/cuda/quantiser.hpp"

struct tare_backend_scaler {
  tare_backend_scaler(int device, const tare::rule::RunningState& running) : scaler(device, running) {}
  tare::kernels::cuda::DeviceScaler scaler;
};

struct tare_backend_list {
  explicit tare_backend_list(tare::kernels::cuda::DeviceScaler& scaler) : list(scaler) {}
  tare::kernels::cuda::DeviceList list;
};

struct tare_backend_slots {
  tare_backend_slots(int device, const tare::kernels::fp8::Slots& like) : slots(device, like) {}
  tare::kernels::cuda::DeviceSlots slots;
};

struct tare_backend_casts {
  explicit tare_backend_casts(tare::kernels::cuda::DeviceSlots& slots) : list(slots) {}
  tare::kernels::cuda::CastList list;
};

struct tare_backend_sums {
  explicit tare_backend_sums(tare::kernels::cuda::DeviceSlots& slots) : list(slots) {}
  tare::kernels::cuda::GradientSums list;
};

struct tare_backend_quantiser {
  tare_backend_quantiser(int device, const tare::kernels::fp8::Quantisation& how) : quantiser(device, how) {}
  tare::kernels::cuda::DeviceQuantiser quantiser;
};

struct tare_backend_looks {
  explicit tare_backend_looks(int device) : looks(device) {}
  tare::kernels::cuda::DeviceLooks looks;
};

namespace tare::kernels::cuda {
namespace {

static_assert(static_cast<int>(Command::report) == TARE_BACKEND_REPORT);
static_assert(static_cast<int>(Command::step) == TARE_BACKEND_STEP);
static_assert(static_cast<int>(Command::put_scale) == TARE_BACKEND_PUT_SCALE);
static_assert(static_cast<int>(Command::take_over) == TARE_BACKEND_TAKE_OVER);
static_assert(static_cast<int>(Command::report_layer) == TARE_BACKEND_REPORT_LAYER);
static_assert(static_cast<int>(Command::follow_reduced) == TARE_BACKEND_FOLLOW_REDUCED);
static_assert(static_cast<int>(Command::step_elsewhere) == TARE_BACKEND_STEP_ELSEWHERE);
static_assert(static_cast<int>(Pass::observe) == TARE_BACKEND_OBSERVE);
static_assert(static_cast<int>(Pass::unscale) == TARE_BACKEND_UNSCALE);
static_assert(static_cast<int>(Pass::write) == TARE_BACKEND_WRITE);
static_assert(static_cast<int>(Pass::scale) == TARE_BACKEND_SCALE);

/// Ends something on its own device, and keeps quiet: there is nobody left to tell.
template <class Thing>
void end(Thing* thing, int device) {
  tare_backend_error ignored;
  at_edge(&ignored, [&] {
    const OnDevice here(device);
    delete thing;
  });
}

cudaStream_t stream_of(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

std::int32_t scaler_make(tare_backend_scaler** out, std::int32_t device, const void* running,
                         tare_backend_error* error) {
  return at_edge(error,
                 [&] { *out = new tare_backend_scaler(device, *static_cast<const rule::RunningState*>(running)); });
}

void scaler_end(tare_backend_scaler* scaler) {
  end(scaler, scaler->scaler.device().ordinal());
}

void* scaler_core(const tare_backend_scaler* scaler) {
  return scaler->scaler.core();
}

std::int32_t scaler_do(tare_backend_scaler* scaler, const tare_backend_command* command, std::int32_t* raised,
                       void* stream, tare_backend_error* error) {
  *raised = 0;  // told by the next read
  return at_edge(error, [&] {
    if (command->what == TARE_BACKEND_FOLLOW_REDUCED) return scaler->scaler.follow_reduced(stream_of(stream));
    CommandArguments asked;
    asked.command = static_cast<Command>(command->what);
    asked.overflow = command->overflow;
    asked.scale = command->scale;
    if (command->running != nullptr) asked.running = *static_cast<const rule::RunningState*>(command->running);
    if (command->layer != nullptr) asked.layer = *static_cast<const rule::LayerStatistics*>(command->layer);
    if (command->elsewhere != nullptr) asked.elsewhere = *static_cast<const TorchPlaces*>(command->elsewhere);
    scaler->scaler.obey(asked, stream_of(stream));
  });
}

std::int32_t scaler_read(const tare_backend_scaler* scaler, void* core, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { *static_cast<ScalerCore*>(core) = scaler->scaler.read(stream_of(stream)); });
}

tare_backend_reduction reduction_at(const tare_backend_reduction* reduction) {
  return reduction != nullptr ? *reduction : tare_backend_reduction{};
}

std::int32_t scaler_join(tare_backend_scaler* scaler, const tare_backend_reduction* reduction,
                         tare_backend_error* error) {
  return at_edge(error, [&] { scaler->scaler.join_by(reduction_at(reduction)); });
}

std::int32_t list_make(tare_backend_list** out, tare_backend_scaler* scaler, tare_backend_error* error) {
  return at_edge(error, [&] { *out = new tare_backend_list(scaler->scaler); });
}

void list_end(tare_backend_list* list) {
  end(list, list->list.device());
}

void* list_core(const tare_backend_list* list) {
  return list->list.core();
}

void list_count_finite(tare_backend_list* list) {
  list->list.count_finite();
}

std::int32_t list_assign(tare_backend_list* list, const void* tensors, std::uint64_t count, tare_backend_error* error) {
  return at_edge(error, [&] { list->list.assign(tensors_at(tensors, count)); });
}

std::int32_t list_rebind(tare_backend_list* list, const void* tensors, std::uint64_t count, std::int32_t* same,
                         tare_backend_error* error) {
  return at_edge(error, [&] { *same = list->list.rebind(tensors_at(tensors, count)) ? 1 : 0; });
}

std::int32_t list_is_captured(const tare_backend_list* list) {
  return list->list.is_captured() ? 1 : 0;
}

std::int32_t list_pass(tare_backend_list* list, const tare_backend_pass* pass, std::int32_t* raised, void* stream,
                       tare_backend_error* error) {
  *raised = 0;  // told by the next read
  return at_edge(error, [&] {
    PassRequest request;
    request.pass = static_cast<Pass>(pass->what);
    request.unscales = pass->unscales != 0;
    request.steps = pass->steps != 0;
    request.limit = pass->limit;
    request.clip_norm = pass->clip_norm;
    request.threshold = pass->threshold;
    request.outputs = static_cast<const Tensor*>(pass->outputs);
    list->list.run(request, stream_of(stream));
  });
}

std::int32_t list_follow(tare_backend_list* list, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { list->list.follow_reduced(stream_of(stream)); });
}

std::int32_t list_read(const tare_backend_list* list, void* core, void* each, void* finite, void* stream,
                       tare_backend_error* error) {
  return at_edge(error, [&] {
    *static_cast<ListCore*>(core) =
        list->list.read(static_cast<Statistics*>(each), stream_of(stream), static_cast<FiniteValues*>(finite));
  });
}

const fp8::Slots& arrays_at(const void* slots) {
  return *static_cast<const fp8::Slots*>(slots);
}

std::int32_t slots_make(tare_backend_slots** out, std::int32_t device, const void* like, tare_backend_error* error) {
  return at_edge(error, [&] { *out = new tare_backend_slots(device, arrays_at(like)); });
}

void slots_end(tare_backend_slots* slots) {
  end(slots, slots->slots.device().ordinal());
}

const void* slots_arrays(const tare_backend_slots* slots) {
  return &slots->slots.slots();
}

std::int32_t slots_step(tare_backend_slots* slots, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { slots->slots.step(stream_of(stream)); });
}

std::int32_t slots_join(tare_backend_slots* slots, const tare_backend_reduction* reduction, std::uint64_t* words,
                        tare_backend_error* error) {
  return at_edge(error, [&] {
    if (words != nullptr) return slots->slots.join_words(reduction_at(reduction), words);
    slots->slots.join_by(reduction_at(reduction));
  });
}

std::int32_t slots_read(const tare_backend_slots* slots, const void* into, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { slots->slots.read(arrays_at(into), stream_of(stream)); });
}

std::int32_t slots_write(tare_backend_slots* slots, const void* from, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { slots->slots.write(arrays_at(from), stream_of(stream)); });
}

std::int32_t casts_make(tare_backend_casts** out, tare_backend_slots* slots, tare_backend_error* error) {
  return at_edge(error, [&] { *out = new tare_backend_casts(slots->slots); });
}

void casts_end(tare_backend_casts* casts) {
  end(casts, casts->list.device().ordinal());
}

std::int32_t casts_assign(tare_backend_casts* casts, const void* tensors, const std::uint32_t* slots,
                          std::uint64_t count, tare_backend_error* error) {
  return at_edge(error, [&] { casts->list.assign(tensors_at(tensors, count), slots); });
}

std::int32_t casts_rebind(tare_backend_casts* casts, const void* tensors, const std::uint32_t* slots,
                          std::uint64_t count, std::int32_t* same, tare_backend_error* error) {
  return at_edge(error, [&] { *same = casts->list.rebind(tensors_at(tensors, count), slots) ? 1 : 0; });
}

std::int32_t casts_are_captured(const tare_backend_casts* casts) {
  return casts->list.is_captured() ? 1 : 0;
}

std::int32_t casts_run(tare_backend_casts* casts, std::int32_t what, const void* outputs, void* stream,
                       tare_backend_error* error) {
  return at_edge(error, [&] {
    const auto* to = static_cast<const Tensor*>(outputs);
    switch (what) {
      case TARE_BACKEND_NOTE:
        return casts->list.observe(stream_of(stream));
      case TARE_BACKEND_QUANTISE:
        return casts->list.quantise(to, stream_of(stream));
      case TARE_BACKEND_DEQUANTISE:
        return casts->list.dequantise(to, stream_of(stream));
    }
    throw std::logic_error("no such cast");
  });
}

std::int32_t slots_count_ranks(tare_backend_slots* slots, const tare_backend_reduction* reduction, std::uint64_t* ranks,
                               std::uint64_t* rank, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { slots->slots.count_ranks(*reduction, *ranks, *rank, stream_of(stream)); });
}

std::int32_t slots_compare(tare_backend_slots* slots, const tare_backend_reduction* reduction,
                           const std::uint64_t* list, std::uint64_t* words, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { slots->slots.compare(*reduction, list, words, stream_of(stream)); });
}

SumShape shape_of(const tare_backend_sum& how) {
  return {how.ranks, how.rank, how.bucket_bytes, how.by_engine != 0};
}

std::int32_t sums_make(tare_backend_sums** out, tare_backend_slots* slots, tare_backend_error* error) {
  return at_edge(error, [&] { *out = new tare_backend_sums(slots->slots); });
}

void sums_end(tare_backend_sums* sums) {
  end(sums, sums->list.device().ordinal());
}

std::int32_t sums_assign(tare_backend_sums* sums, const void* tensors, const std::uint32_t* slots,
                         const std::int32_t* formats, std::uint64_t count, const tare_backend_sum* how,
                         tare_backend_error* error) {
  return at_edge(error, [&] { sums->list.assign(tensors_at(tensors, count), slots, formats, shape_of(*how)); });
}

std::int32_t sums_rebind(tare_backend_sums* sums, const void* tensors, const std::uint32_t* slots, std::uint64_t count,
                         const tare_backend_sum* how, std::int32_t* same, tare_backend_error* error) {
  return at_edge(error, [&] { *same = sums->list.rebind(tensors_at(tensors, count), slots, shape_of(*how)) ? 1 : 0; });
}

std::int32_t sums_are_captured(const tare_backend_sums* sums) {
  return sums->list.is_captured() ? 1 : 0;
}

std::int32_t sums_run(tare_backend_sums* sums, const tare_backend_sum* how, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { sums->list.run(*how->reduction, how->fixed_mu, how->summands, stream_of(stream)); });
}

std::int32_t looks_make(tare_backend_looks** out, std::int32_t device, tare_backend_error* error) {
  return at_edge(error, [&] { *out = new tare_backend_looks(device); });
}

void looks_end(tare_backend_looks* looks) {
  end(looks, looks->looks.device().ordinal());
}

std::int32_t looks_add(tare_backend_looks* looks, const void* tensors, std::uint64_t count, const void* scale,
                       void* stream, tare_backend_error* error) {
  return at_edge(error, [&] {
    looks->looks.add(tensors_at(tensors, count), *static_cast<const BorneScale*>(scale), stream_of(stream));
  });
}

std::int32_t looks_add_list(tare_backend_looks* looks, tare_backend_list* list, void* stream,
                            tare_backend_error* error) {
  return at_edge(error, [&] { looks->looks.add(list->list, stream_of(stream)); });
}

std::int32_t looks_add_scaler(tare_backend_looks* looks, const void* places, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] { looks->looks.add(*static_cast<const ScalerPlaces*>(places), stream_of(stream)); });
}

std::int32_t looks_ask(const tare_backend_looks* looks, std::int32_t* done, tare_backend_error* error) {
  return at_edge(error, [&] { *done = looks->looks.are_done() ? 1 : 0; });
}

std::int32_t looks_read(tare_backend_looks* looks, const tare_backend_seen* into, tare_backend_error* error) {
  return at_edge(error, [&] { looks->looks.read(into); });
}

std::int32_t quantiser_make(tare_backend_quantiser** out, std::int32_t device, const void* how,
                            tare_backend_error* error) {
  return at_edge(error,
                 [&] { *out = new tare_backend_quantiser(device, *static_cast<const fp8::Quantisation*>(how)); });
}

void quantiser_end(tare_backend_quantiser* quantiser) {
  end(quantiser, quantiser->quantiser.device());
}

std::int32_t quantiser_run(tare_backend_quantiser* quantiser, std::int32_t what, const void* matrices,
                           std::uint64_t count, void* stream, tare_backend_error* error) {
  return at_edge(error, [&] {
    const std::span all(static_cast<const fp8::Matrix*>(matrices), static_cast<std::size_t>(count));
    if (what == TARE_BACKEND_QUANTISE) return quantiser->quantiser.quantise(all, stream_of(stream));
    quantiser->quantiser.dequantise(all, stream_of(stream));
  });
}

constexpr tare_backend_table table{
    .struct_size = sizeof(tare_backend_table),
    .release = TARE_RELEASE,
    .scaler_make = scaler_make,
    .scaler_end = scaler_end,
    .scaler_core = scaler_core,
    .scaler_do = scaler_do,
    .scaler_read = scaler_read,
    .scaler_join = scaler_join,
    .list_make = list_make,
    .list_end = list_end,
    .list_core = list_core,
    .list_count_finite = list_count_finite,
    .list_assign = list_assign,
    .list_rebind = list_rebind,
    .list_is_captured = list_is_captured,
    .list_pass = list_pass,
    .list_follow = list_follow,
    .list_read = list_read,
    .slots_make = slots_make,
    .slots_end = slots_end,
    .slots_arrays = slots_arrays,
    .slots_step = slots_step,
    .slots_join = slots_join,
    .slots_read = slots_read,
    .slots_write = slots_write,
    .casts_make = casts_make,
    .casts_end = casts_end,
    .casts_assign = casts_assign,
    .casts_rebind = casts_rebind,
    .casts_are_captured = casts_are_captured,
    .casts_run = casts_run,
    .slots_cast = nullptr,
    .slots_count_ranks = slots_count_ranks,
    .slots_compare = slots_compare,
    .sums_make = sums_make,
    .sums_end = sums_end,
    .sums_assign = sums_assign,
    .sums_rebind = sums_rebind,
    .sums_are_captured = sums_are_captured,
    .sums_run = sums_run,
    .looks_make = looks_make,
    .looks_end = looks_end,
    .looks_add = looks_add,
    .looks_add_list = looks_add_list,
    .looks_add_scaler = looks_add_scaler,
    .looks_ask = looks_ask,
    .looks_read = looks_read,
    .quantiser_make = quantiser_make,
    .quantiser_end = quantiser_end,
    .quantiser_run = quantiser_run,
};

}  // namespace
}  // namespace tare::kernels::cuda

extern "C" __attribute__((visibility("default"))) const tare_backend_table* tare_cuda_module() {
  return &tare::kernels::cuda::table;
}
