// MLflow's file store: mlruns/<experiment>/<run>/metrics/<key>, a line `timestamp value step` each time.
// Source: mlflow/store/tracking/file_store.py.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lib/base/bytes.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

/// The key of a metric's file: what its path has behind `metrics/`. Nothing where it is none.
std::optional<std::string> mlflow_metric(std::string_view path, ByteView head);

void read_mlflow_metric(Input& input, const std::string& key, Series& series);

}  // namespace tare
