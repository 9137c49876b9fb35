#include "kernels/cpu/table.hpp"

#include <algorithm>
#include <memory>

#include "kernels/backend_edge.hpp"
#include "kernels/cpu/fp8.hpp"
#include "kernels/cpu/quantiser.hpp"
#include "kernels/cpu/scaler.hpp"
#include "kernels/fp8/each_array.hpp"

struct tare_backend_scaler {
  tare::kernels::cpu::CpuScaler scaler;
};

struct tare_backend_list {
  explicit tare_backend_list(tare::kernels::cpu::CpuScaler& scaler) : list(scaler) {}
  tare::kernels::cpu::ScalerList list;
};

struct tare_backend_slots {
  tare::kernels::cpu::CastingSlots slots;
};

struct tare_backend_casts {
  explicit tare_backend_casts(tare::kernels::cpu::CastingSlots& slots) : casts(slots) {}
  tare::kernels::cpu::Casts casts;
};

struct tare_backend_quantiser {
  tare_backend_quantiser(unsigned threads, const tare::kernels::fp8::Quantisation& how) : quantiser(threads, how) {}
  tare::kernels::cpu::Quantiser quantiser;
};

namespace tare::kernels::cpu {
namespace {

using Error = tare_backend_error;

std::int32_t scaler_make(tare_backend_scaler** out, std::int32_t threads, const void* running, Error* error) {
  return at_edge(error, [&] {
    *out = new tare_backend_scaler{
        CpuScaler(static_cast<unsigned>(threads), *static_cast<const rule::RunningState*>(running))};
  });
}

void scaler_end(tare_backend_scaler* scaler) {
  delete scaler;
}

void* scaler_core(const tare_backend_scaler* scaler) {
  return const_cast<tare_backend_scaler*>(scaler)->scaler.core();
}

std::int32_t scaler_do(tare_backend_scaler* scaler, const tare_backend_command* command, std::int32_t* raised, void*,
                       Error* error) {
  return at_edge(error, [&] { *raised = static_cast<std::int32_t>(scaler->scaler.obey(*command)); });
}

std::int32_t scaler_read(const tare_backend_scaler* scaler, void* core, void*, Error*) {
  *static_cast<ScalerCore*>(core) = *static_cast<const ScalerCore*>(scaler_core(scaler));
  return done;
}

std::int32_t scaler_join(tare_backend_scaler* scaler, const tare_backend_reduction* reduction, Error*) {
  scaler->scaler.join_by(reduction != nullptr ? *reduction : tare_backend_reduction{});
  return done;
}

std::int32_t list_make(tare_backend_list** out, tare_backend_scaler* scaler, Error* error) {
  return at_edge(error, [&] { *out = new tare_backend_list(scaler->scaler); });
}

void list_end(tare_backend_list* list) {
  delete list;
}

void* list_core(const tare_backend_list* list) {
  return const_cast<tare_backend_list*>(list)->list.core();
}

void list_count_finite(tare_backend_list* list) {
  list->list.count_finite();
}

std::int32_t list_assign(tare_backend_list* list, const void* tensors, std::uint64_t count, Error* error) {
  return at_edge(error, [&] { list->list.assign(tensors_at(tensors, count)); });
}

std::int32_t list_rebind(tare_backend_list* list, const void* tensors, std::uint64_t count, std::int32_t* same,
                         Error* error) {
  return at_edge(error, [&] { *same = list->list.rebind(tensors_at(tensors, count)) ? 1 : 0; });
}

std::int32_t list_is_captured(const tare_backend_list*) {
  return 0;
}

std::int32_t list_pass(tare_backend_list* list, const tare_backend_pass* pass, std::int32_t* raised, void*,
                       Error* error) {
  return at_edge(error, [&] { *raised = static_cast<std::int32_t>(list->list.run(*pass)); });
}

std::int32_t list_follow(tare_backend_list* list, void*, Error*) {
  list->list.follow_reduced();
  return done;
}

std::int32_t list_read(const tare_backend_list* list, void* core, void* each, void* finite, void*, Error*) {
  *static_cast<ListCore*>(core) = list->list.core();
  std::ranges::copy(list->list.each(), static_cast<Statistics*>(each));
  if (finite != nullptr) std::ranges::copy(list->list.finite(), static_cast<FiniteValues*>(finite));
  return done;
}

const fp8::Slots& arrays_at(const void* slots) {
  return *static_cast<const fp8::Slots*>(slots);
}

std::int32_t slots_make(tare_backend_slots** out, std::int32_t threads, const void* like, Error* error) {
  return at_edge(error,
                 [&] { *out = new tare_backend_slots{CastingSlots(static_cast<unsigned>(threads), arrays_at(like))}; });
}

void slots_end(tare_backend_slots* slots) {
  delete slots;
}

const void* slots_arrays(const tare_backend_slots* slots) {
  return &slots->slots.slots().arrays();
}

std::int32_t slots_step(tare_backend_slots* slots, void*, Error*) {
  slots->slots.slots().step();
  return done;
}

std::int32_t slots_read(const tare_backend_slots* slots, const void* into, void*, Error*) {
  fp8::copy_arrays(arrays_at(into), slots->slots.slots().arrays());
  return done;
}

std::int32_t slots_write(tare_backend_slots* slots, const void* from, void*, Error*) {
  slots->slots.slots().assign(arrays_at(from));
  return done;
}

std::int32_t casts_make(tare_backend_casts** out, tare_backend_slots* slots, Error* error) {
  return at_edge(error, [&] { *out = new tare_backend_casts(slots->slots); });
}

void casts_end(tare_backend_casts* casts) {
  delete casts;
}

std::int32_t casts_assign(tare_backend_casts* casts, const void* tensors, const std::uint32_t* slots,
                          std::uint64_t count, Error* error) {
  return at_edge(error, [&] { casts->casts.assign(tensors_at(tensors, count), slots); });
}

std::int32_t casts_rebind(tare_backend_casts* casts, const void* tensors, const std::uint32_t* slots,
                          std::uint64_t count, std::int32_t* same, Error*) {
  *same = casts->casts.rebind(tensors_at(tensors, count), slots) ? 1 : 0;
  return done;
}

std::int32_t casts_are_captured(const tare_backend_casts*) {
  return 0;
}

std::int32_t casts_run(tare_backend_casts* casts, std::int32_t what, const void* outputs, void*, Error* error) {
  return at_edge(error, [&] { casts->casts.run(what, static_cast<const Tensor*>(outputs)); });
}

std::int32_t slots_cast(tare_backend_slots* slots, std::int32_t what, const void* tensors,
                        const std::uint32_t* slots_of, std::uint64_t count, const void* outputs, Error* error) {
  return at_edge(error, [&] {
    slots->slots.cast(what, tensors_at(tensors, count), slots_of, static_cast<const Tensor*>(outputs));
  });
}

std::int32_t quantiser_make(tare_backend_quantiser** out, std::int32_t threads, const void* how, Error* error) {
  return at_edge(error, [&] {
    *out = new tare_backend_quantiser(static_cast<unsigned>(threads), *static_cast<const fp8::Quantisation*>(how));
  });
}

void quantiser_end(tare_backend_quantiser* quantiser) {
  delete quantiser;
}

std::int32_t quantiser_run(tare_backend_quantiser* quantiser, std::int32_t what, const void* matrices,
                           std::uint64_t count, void*, Error* error) {
  return at_edge(error, [&] {
    const std::span all(static_cast<const fp8::Matrix*>(matrices), static_cast<std::size_t>(count));
    if (what == TARE_BACKEND_QUANTISE) return quantiser->quantiser.quantise(all);
    quantiser->quantiser.dequantise(all);
  });
}

constexpr tare_backend_table functions{
    .struct_size = sizeof(tare_backend_table),
    .release = "",
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
    .slots_join = nullptr,
    .slots_read = slots_read,
    .slots_write = slots_write,
    .casts_make = casts_make,
    .casts_end = casts_end,
    .casts_assign = casts_assign,
    .casts_rebind = casts_rebind,
    .casts_are_captured = casts_are_captured,
    .casts_run = casts_run,
    .slots_cast = slots_cast,
    .slots_count_ranks = nullptr,
    .slots_compare = nullptr,
    .sums_make = nullptr,
    .sums_end = nullptr,
    .sums_assign = nullptr,
    .sums_rebind = nullptr,
    .sums_are_captured = nullptr,
    .sums_run = nullptr,
    .looks_make = nullptr,
    .looks_end = nullptr,
    .looks_add = nullptr,
    .looks_add_list = nullptr,
    .looks_add_scaler = nullptr,
    .looks_ask = nullptr,
    .looks_read = nullptr,
    .quantiser_make = quantiser_make,
    .quantiser_end = quantiser_end,
    .quantiser_run = quantiser_run,
};

}  // namespace

const tare_backend_table& table() {
  return functions;
}

}  // namespace tare::kernels::cpu
