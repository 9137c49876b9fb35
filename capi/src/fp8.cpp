#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/state/fp8_convert.hpp"

using namespace tare;
using namespace tare::capi;

int32_t tare_fp8_create(tare_fp8** out, const char* config_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(config_json, "config_json");
    return new tare_fp8{.slots = make_fp8_scaler(parse_fp8_config(config_json))};
  });
}

int32_t tare_fp8_create_from_state(tare_fp8** out, const tare_state* state, const char* config_json,
                                   tare_error* error) {
  return guard_making(out, error, [&] {
    require(state, "state");
    return new tare_fp8{.slots = make_fp8_scaler(parse_fp8_config(config_json, state->state))};
  });
}

void tare_fp8_destroy(tare_fp8* fp8) {
  destroy(fp8);
}

int32_t tare_fp8_policies(tare_text** out, tare_error* error) {
  return guard_making(out, error, [] { return new_text(fp8_policies_json()); });
}

int32_t tare_fp8_count(uint64_t* out, const tare_fp8* fp8, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(fp8, "fp8");
    *out = fp8->slots->count();
  });
}

int32_t tare_fp8_slot(uint32_t* out, const tare_fp8* fp8, const char* name, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(fp8, "fp8");
    require(name, "name");
    *out = fp8->slots->slot_of(name);
  });
}

int32_t tare_fp8_observe(tare_fp8* fp8, const tare_tensor* tensors, const uint32_t* slots, uint64_t count,
                         tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    fp8->slots->observe(tensors_of(tensors, count), slots, stream);
  });
}

int32_t tare_fp8_update(tare_fp8* fp8, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    fp8->slots->update(stream);
  });
}

int32_t tare_fp8_scale_pointer(const float** out, const tare_fp8* fp8, int32_t which, tare_error* error) {
  return guard_making(out, error, [&] {
    require(fp8, "fp8");
    return fp8->slots->pointer(static_cast<Fp8Shown>(which));
  });
}

int32_t tare_fp8_accumulators(void** out, uint64_t* bytes, const tare_fp8* fp8, tare_error* error) {
  return guard_making(out, error, [&] {
    require(bytes, "bytes");
    require(fp8, "fp8");
    const Accumulators accumulators = fp8->slots->accumulators();
    *bytes = accumulators.bytes;
    return accumulators.data;
  });
}

int32_t tare_fp8_quantize(tare_fp8* fp8, const tare_tensor* out, const tare_tensor* in, const uint32_t* slots,
                          uint64_t count, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    if (count > 0) require(out, "out");
    fp8->slots->quantise(tensors_of(in, count), tensors_of(out, count), slots, stream);
  });
}

int32_t tare_fp8_dequantize(tare_fp8* fp8, const tare_tensor* out, const tare_tensor* in, const uint32_t* slots,
                            uint64_t count, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    if (count > 0) require(out, "out");
    fp8->slots->dequantise(tensors_of(in, count), tensors_of(out, count), slots, stream);
  });
}

int32_t tare_fp8_statistics(tare_text** out, const tare_fp8* fp8, tare_stream stream, tare_error* error) {
  return guard_making(out, error, [&] {
    require(fp8, "fp8");
    return new_text(fp8->slots->statistics(stream));
  });
}

int32_t tare_fp8_save(tare_state** out, const tare_fp8* fp8, tare_stream stream, tare_error* error) {
  return guard_making(out, error, [&] {
    require(fp8, "fp8");
    return new tare_state{.state = fp8->slots->save(stream)};
  });
}

int32_t tare_fp8_freeze(tare_state** out, const tare_fp8* fp8, tare_stream stream, tare_error* error) {
  return guard_making(out, error, [&] {
    require(fp8, "fp8");
    return new tare_state{.state = convert_fp8(fp8->slots->save(stream), "fp8_static").state};
  });
}

int32_t tare_fp8_load(tare_fp8* fp8, const tare_state* state, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(fp8, "fp8");
    require(state, "state");
    fp8->slots->load(state->state, stream);
  });
}

int32_t tare_fp8_casts_create(tare_fp8_casts** out, tare_fp8* fp8, const tare_tensor* inputs, const uint32_t* slots,
                              uint64_t count, tare_error* error) {
  return guard_making(out, error, [&] {
    require(fp8, "fp8");
    return new tare_fp8_casts{.casts = fp8->slots->make_casts(tensors_of(inputs, count), slots)};
  });
}

int32_t tare_fp8_casts_rebind(tare_fp8_casts* casts, const tare_tensor* inputs, uint64_t count, tare_stream,
                              tare_error* error) {
  return guard(error, [&] {
    require(casts, "casts");
    casts->casts->rebind(tensors_of(inputs, count));
  });
}

int32_t tare_fp8_casts_observe(tare_fp8_casts* casts, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(casts, "casts");
    casts->casts->observe(stream);
  });
}

int32_t tare_fp8_casts_quantize(tare_fp8_casts* casts, const tare_tensor* out, uint64_t count, tare_stream stream,
                                tare_error* error) {
  return guard(error, [&] {
    require(casts, "casts");
    if (count > 0) require(out, "out");
    casts->casts->quantise(tensors_of(out, count), stream);
  });
}

int32_t tare_fp8_casts_dequantize(tare_fp8_casts* casts, const tare_tensor* out, uint64_t count, tare_stream stream,
                                  tare_error* error) {
  return guard(error, [&] {
    require(casts, "casts");
    if (count > 0) require(out, "out");
    casts->casts->dequantise(tensors_of(out, count), stream);
  });
}

void tare_fp8_casts_destroy(tare_fp8_casts* casts) {
  destroy(casts);
}
