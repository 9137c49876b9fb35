// `model.safetensors.index.json`: which shard of a model has which tensor, and how many bytes all have. An edit that
// takes tensors out of a shard, or changes their size, takes it along. Source: transformers, accelerate, diffusers.
#pragma once

#include <vector>

#include "lib/base/files.hpp"
#include "lib/transaction/transaction.hpp"

namespace tare {

/// The edits of all such files that name tensors which `edits` take away, or count bytes that they change. Throws
/// `corrupt` for one that cannot be read.
std::vector<FileEdit> renewed_weight_maps(const std::vector<FileEdit>& edits, const Files& files = local_files());

}  // namespace tare
