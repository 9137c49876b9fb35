// What a scaler's passes find, joined with what those of other ranks found, before the rule or a caller goes by it.
#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/scaler_core.hpp"
#include "lib/collective/communicator.hpp"

namespace tare {

/// Whose values a rank looks at.
enum class Gradients {
  sharded,     ///< its own: counts and sums of squares are those of all ranks together
  replicated,  ///< those that every rank looks at: they are counted once
};

/// Throws `mismatch` where ranks were not in the same call, of the same scale and step, or of replicated gradients had
/// not as many values.
void require_together(const kernels::Parting& parting);

/// A JSON object {"gradients":"sharded"}; null or empty: that. Throws `invalid_argument`.
Gradients parse_reduction_options(const char* json);

class Reduction {
 public:
  Reduction(std::shared_ptr<Communicator> communicator, Gradients gradients)
      : communicator_(std::move(communicator)), gradients_(gradients) {}

  /// For a backend, which calls it as long as this lives and stays where it is.
  [[nodiscard]] tare_backend_reduction hook();
  [[nodiscard]] Gradients gradients() const { return gradients_; }

 private:
  /// Throws what require_together does; all ranks do.
  void join(const tare_backend_findings& findings);
  /// In memory of a GPU.
  void enqueue(kernels::RankRecord* record, kernels::Stream stream);

  std::shared_ptr<Communicator> communicator_;
  Gradients gradients_;
};

}  // namespace tare
