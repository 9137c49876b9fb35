#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"

using namespace tare;
using namespace tare::capi;

int32_t tare_grads_create(tare_grads** out, tare_scaler* scaler, const tare_tensor* tensors, uint64_t count,
                          tare_error* error) {
  return guard_making(out, error, [&] {
    require(scaler, "scaler");
    return new tare_grads{.grads = scaler->scaler->make_grads(tensors_of(tensors, count))};
  });
}

int32_t tare_grads_rebind(tare_grads* grads, const tare_tensor* tensors, uint64_t count, tare_stream,
                          tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->rebind(tensors_of(tensors, count));
  });
}

int32_t tare_grads_unscale(tare_grads* grads, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->unscale(stream);
  });
}

int32_t tare_grads_observe(tare_grads* grads, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->observe(stream);
  });
}

int32_t tare_grads_unscale_and_update(tare_grads* grads, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->unscale_and_update(stream);
  });
}

int32_t tare_grads_observe_and_update(tare_grads* grads, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->observe_and_update(stream);
  });
}

int32_t tare_grads_write(tare_grads* grads, const tare_tensor* out, uint64_t count, const char* options_json,
                         tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->write(tensors_of(out, count), options_json, stream);
  });
}

int32_t tare_grads_pointer(const void** out, const tare_grads* grads, int32_t which, tare_error* error) {
  return guard_making(out, error, [&] {
    require(grads, "grads");
    return grads->grads->pointer(static_cast<Shown>(which));
  });
}

int32_t tare_grads_accumulators(void** out, uint64_t* bytes, const tare_grads* grads, tare_error* error) {
  return guard_making(out, error, [&] {
    require(bytes, "bytes");
    require(grads, "grads");
    const Accumulators accumulators = grads->grads->accumulators();
    *bytes = accumulators.bytes;
    return accumulators.data;
  });
}

int32_t tare_grads_report_reduced(tare_grads* grads, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(grads, "grads");
    grads->grads->report_reduced(stream);
  });
}

int32_t tare_grads_statistics(tare_text** out, const tare_grads* grads, tare_stream stream, tare_error* error) {
  return guard_making(out, error, [&] {
    require(grads, "grads");
    return new_text(grads->grads->statistics(stream));
  });
}

void tare_grads_destroy(tare_grads* grads) {
  destroy(grads);
}
