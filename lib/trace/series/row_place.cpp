#include "lib/trace/series/row_place.hpp"

#include "lib/base/whole_number.hpp"

namespace tare {

void RowPlace::take_surer(std::optional<Count>& count, const Count& other) {
  if (!count || other.rank < count->rank) count = other;
}

void RowPlace::take(const Key& key, std::string_view name, double value) {
  const auto number = whole_number(value);
  if (!number) return;
  if (key.role == KeyRole::step) take_surer(step_, {*number, key.rank, name});
  if (key.role == KeyRole::batch) take_surer(batch_, {*number, key.rank, name});
  if (key.role == KeyRole::epoch) take_surer(epoch_, {*number, key.rank, name});
}

std::string_view RowPlace::tell(SeriesRow& row) const {
  const auto& within = step_ ? step_ : batch_;
  if (epoch_ && !within) {
    row.step = epoch_->number;
    row.is_of_epoch = true;
    return "epoch";
  }
  if (epoch_) row.epoch = epoch_->number;
  row.is_of_batch = epoch_ && !step_;
  if (within && (step_ || epoch_)) row.step = within->number;  // a batch without an epoch may be the size of one
  return step_ && step_->name.ends_with("num_updates") ? "update" : "";
}

}  // namespace tare
