#include "capi/src/guard.hpp"
#include "capi/src/handles.hpp"
#include "lib/scaler/live.hpp"

using namespace tare;
using namespace tare::capi;

namespace {

rule::LayerStatistics statistics_of(const tare_layer& layer) {
  if (layer.struct_size < sizeof(tare_layer) || layer.reserved != 0) {
    throw Error(Status::invalid_argument,
                "layer: struct_size is " + std::to_string(layer.struct_size) + " and reserved " +
                    std::to_string(layer.reserved),
                "Set struct_size to sizeof(tare_layer), and reserved to 0.");
  }
  return {layer.gradient_mean,    layer.gradient_deviation, layer.weight_mean,
          layer.weight_deviation, layer.largest_product,    layer.fan_in,
          layer.prev_scale};
}

int32_t dtype_of(rule::ValueType type) {
  switch (type) {
    case rule::ValueType::real32:
      return TARE_F32;
    case rule::ValueType::real64:
      return TARE_F64;
    case rule::ValueType::integer32:
      return TARE_I32;
    case rule::ValueType::integer64:
      return TARE_I64;
    default:
      return TARE_BOOL;
  }
}

int32_t set_value(tare_scaler* scaler, const char* key, const StateValue& value, tare_stream stream,
                  tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    require(key, "key");
    put_live_value(*scaler->scaler, key, value, stream);
  });
}

}  // namespace

int32_t tare_scaler_create(tare_scaler** out, const char* config_json, tare_error* error) {
  return guard_making(out, error, [&] {
    require(config_json, "config_json");
    return new tare_scaler{.scaler = make_scaler(parse_config(config_json))};
  });
}

int32_t tare_scaler_create_from_state(tare_scaler** out, const tare_state* state, const char* config_json,
                                      tare_error* error) {
  return guard_making(out, error, [&] {
    require(state, "state");
    return new tare_scaler{.scaler = make_scaler(parse_config(config_json, state->state))};
  });
}

void tare_scaler_destroy(tare_scaler* scaler) {
  destroy(scaler);
}

int32_t tare_policies(tare_text** out, tare_error* error) {
  return guard_making(out, error, [] { return new_text(policies_json()); });
}

int32_t tare_scaler_scale(double* out, const tare_scaler* scaler, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(scaler, "scaler");
    *out = scaler->scaler->scale(stream);
  });
}

int32_t tare_scaler_pointer(const void** out, const tare_scaler* scaler, int32_t which, tare_error* error) {
  return guard_making(out, error, [&] {
    require(scaler, "scaler");
    return scaler->scaler->pointer(static_cast<Shown>(which));
  });
}

int32_t tare_scaler_unscale(tare_scaler* scaler, const tare_tensor* tensors, uint64_t count, tare_stream stream,
                            tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->unscale(tensors_of(tensors, count), stream);
  });
}

int32_t tare_scaler_observe(tare_scaler* scaler, const tare_tensor* tensors, uint64_t count, tare_stream stream,
                            tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->observe(tensors_of(tensors, count), stream);
  });
}

int32_t tare_scaler_scale_tensors(tare_scaler* scaler, const tare_tensor* tensors, uint64_t count, tare_stream stream,
                                  tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->scale_up(tensors_of(tensors, count), stream);
  });
}

int32_t tare_scaler_update_elsewhere(tare_scaler* scaler, float* scale, int32_t* growth_tracker, const float* found_inf,
                                     tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    require(scale, "scale");
    require(growth_tracker, "growth_tracker");
    require(found_inf, "found_inf");
    scaler->scaler->update_elsewhere({scale, growth_tracker, found_inf}, stream);
  });
}

int32_t tare_scaler_report_overflow(tare_scaler* scaler, int32_t overflow, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->report_overflow(overflow != 0, stream);
  });
}

int32_t tare_scaler_report_layer(tare_scaler* scaler, const tare_layer* layer, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    require(layer, "layer");
    scaler->scaler->report_layer(statistics_of(*layer), stream);
  });
}

int32_t tare_scaler_update(tare_scaler* scaler, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->update(stream);
  });
}

int32_t tare_scaler_set_scale(tare_scaler* scaler, double scale, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->set_scale(scale, stream);
  });
}

int32_t tare_scaler_update_outcome(tare_outcome* out, tare_scaler* scaler, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(scaler, "scaler");
    if (out->struct_size < sizeof(tare_outcome)) {
      throw Error(Status::invalid_argument, "out: struct_size is " + std::to_string(out->struct_size),
                  "Set it to sizeof(tare_outcome).");
    }
    UpdateOutcome outcome;
    const auto tell = [&] {
      *out = {out->struct_size,
              outcome.old_scale,
              outcome.new_scale,
              outcome.found_inf,
              outcome.skipped,
              outcome.new_scale > outcome.old_scale,
              outcome.new_scale < outcome.old_scale};
    };
    try {
      update(*scaler->scaler, outcome, stream);
    } catch (const Error& failure) {
      if (failure.status == Status::rule_raised) tell();
      throw;
    }
    tell();
  });
}

int32_t tare_scaler_field(void** out, int32_t* dtype, const tare_scaler* scaler, const char* key, tare_error* error) {
  return guard_making(out, error, [&] {
    require(dtype, "dtype");
    require(scaler, "scaler");
    require(key, "key");
    const LiveField field = live_field(*scaler->scaler, key);
    *dtype = dtype_of(field.type);
    return field.data;
  });
}

int32_t tare_scaler_number(double* out, const tare_scaler* scaler, const char* key, tare_stream stream,
                           tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(scaler, "scaler");
    require(key, "key");
    *out = number_of(live_value(*scaler->scaler, key, stream), key);
  });
}

int32_t tare_scaler_integer(int64_t* out, const tare_scaler* scaler, const char* key, tare_stream stream,
                            tare_error* error) {
  return guard(error, [&] {
    require(out, "out");
    require(scaler, "scaler");
    require(key, "key");
    *out = integer_of(live_value(*scaler->scaler, key, stream), key);
  });
}

int32_t tare_scaler_set_number(tare_scaler* scaler, const char* key, double value, tare_stream stream,
                               tare_error* error) {
  return set_value(scaler, key, value, stream, error);
}

int32_t tare_scaler_set_integer(tare_scaler* scaler, const char* key, int64_t value, tare_stream stream,
                                tare_error* error) {
  return set_value(scaler, key, value, stream, error);
}

int32_t tare_scaler_accumulators(void** out, uint64_t* bytes, const tare_scaler* scaler, tare_error* error) {
  return guard_making(out, error, [&] {
    require(bytes, "bytes");
    require(scaler, "scaler");
    const Accumulators accumulators = scaler->scaler->accumulators();
    *bytes = accumulators.bytes;
    return accumulators.data;
  });
}

int32_t tare_scaler_report_reduced(tare_scaler* scaler, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    scaler->scaler->report_reduced(stream);
  });
}

int32_t tare_scaler_statistics(tare_text** out, const tare_scaler* scaler, tare_stream stream, tare_error* error) {
  return guard_making(out, error, [&] {
    require(scaler, "scaler");
    return new_text(scaler->scaler->statistics(stream));
  });
}

int32_t tare_scaler_save(tare_state** out, const tare_scaler* scaler, tare_stream stream, tare_error* error) {
  return guard_making(out, error, [&] {
    require(scaler, "scaler");
    return new tare_state{.state = scaler->scaler->save(stream)};
  });
}

int32_t tare_scaler_load(tare_scaler* scaler, const tare_state* state, tare_stream stream, tare_error* error) {
  return guard(error, [&] {
    require(scaler, "scaler");
    require(state, "state");
    scaler->scaler->load(state->state, stream);
  });
}
