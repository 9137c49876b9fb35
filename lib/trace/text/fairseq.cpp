// fairseq, metaseq, uni-core: trainer.py, dynamic_loss_scaler.py, logging/progress_bar.py. Updates count no skipped
// steps; some releases print a mean of scales, which is no power of two.
#include "lib/trace/text/shapes.hpp"

namespace tare {

namespace {

using enum Fact;

constexpr LineField fairseq_note[] = {
    {after, "loss scale to", true},
};

constexpr LineField fairseq_amp[] = {
    {after, "setting scale to", true},
};

constexpr LineField fairseq_interval[] = {
    {loss, " loss="},
    {step, "num_updates=", true},
    {grad_norm, "gnorm="},
    {power, "loss_scale=", true},
};

/// As long as every step was skipped there is no update.
constexpr LineField fairseq_before_updates[] = {
    {power, "loss_scale=", true},
};

constexpr LineField fairseq_json[] = {
    {loss, "\"loss\""},
    {step, "\"num_updates\"", true},
    {grad_norm, "\"gnorm\""},
    {power, "\"loss_scale\"", true},
};

constexpr LineField fairseq_epoch_end[] = {
    {loss, "| loss "},
    {step, "num_updates ", true},
    {grad_norm, "gnorm "},
    {power, "loss_scale ", true},
};

constexpr LineField fairseq_json_epoch_end[] = {
    {loss, "\"train_loss\""},
    {step, "\"train_num_updates\"", true},
    {grad_norm, "\"train_gnorm\""},
    {power, "\"train_loss_scale\"", true},
};

constexpr LineShape fairseq_lines[] = {
    {.kind = "fairseq-log",
     .needle = "setting loss scale to",
     .also = "overflow detected",
     .fields = fairseq_note,
     .overflow = true},
    {.kind = "fairseq-log",
     .needle = "setting scale to",
     .also = "overflow detected",
     .fields = fairseq_amp,
     .overflow = true},
    {.kind = "fairseq-log", .needle = "inimum loss scale reached", .meaning = Meaning::death, .overflow = true},
    {.kind = "fairseq-log",
     .needle = "loss_scale=",
     .also = "num_updates=",
     .fields = fairseq_interval,
     .meaning = Meaning::report,
     .unit = "update",
     .is_paced = false},
    {.kind = "fairseq-log",
     .needle = "loss_scale=",
     .also = "train_inner",
     .without = "num_updates",
     .fields = fairseq_before_updates,
     .meaning = Meaning::moment,
     .unit = "update"},
    {.kind = "fairseq-log",
     .needle = "\"loss_scale\"",
     .also = "\"num_updates\"",
     .fields = fairseq_json,
     .meaning = Meaning::report,
     .unit = "update",
     .is_paced = false},
    {.kind = "fairseq-log",
     .needle = "| loss_scale ",
     .also = "num_updates ",
     .fields = fairseq_epoch_end,
     .meaning = Meaning::moment,
     .unit = "update"},
    {.kind = "fairseq-log",
     .needle = "\"train_loss_scale\"",
     .also = "\"train_num_updates\"",
     .fields = fairseq_json_epoch_end,
     .meaning = Meaning::moment,
     .unit = "update"},
};

}  // namespace

std::span<const LineShape> fairseq_shapes() {
  return fairseq_lines;
}

}  // namespace tare
