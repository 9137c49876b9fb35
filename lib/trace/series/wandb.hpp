// W&B's files of a run: run-*.wandb. Source: wandb/proto/wandb_internal.proto, wandb/sdk/internal/datastore.py.
#pragma once

#include "lib/base/bytes.hpp"
#include "lib/trace/input.hpp"
#include "lib/trace/series/series.hpp"

namespace tare {

bool starts_like_wandb(ByteView head);

/// From `begin`, where a record begins or the file does. A damaged record ends it.
WholePart whole_wandb_records(const Source& file, std::uint64_t begin);

void read_wandb(Input& input, Series& series);

}  // namespace tare
