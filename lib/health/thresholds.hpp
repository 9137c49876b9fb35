// Where the rules draw their lines: each a number that a user may set, with its source.
#pragma once

#include <span>
#include <string_view>

namespace tare {

struct Thresholds {
  double collapse_overflows = 8;
  double collapse_low_overflows = 5;
  double collapse_low_scale = 16;
  double vanished_scale = 0x1p-24;
  double stuck_overflows = 3;
  double low_scale = 8;
  double low_scale_steps = 100;
  double falling_octaves = 4;
  double falling_steps = 1000;
  double overflow_share = 0.02;
  double overflow_share_steps = 1000;
  double backoff_octaves = 4;
  double ceiling_hits = 3;
  double frozen_windows = 3;
  double frozen_steps = 10'000;
  double exploding_scale = 0x1p24;
  double exploding_growths = 5;
  double manual_share = 0.5;
  double search_clean_steps = 64;
  double search_halvings = 24;
  double search_least_scale = 256;
  double loss_ratio = 1.15;
  double loss_reports = 20;
  double loss_jump = 1.5;
  double loss_diverged = 1.3;
  double loss_diverged_steps = 200;
  double nan_reports = 3;
  double nan_reports_at_start = 24;
  double norm_ratio = 10;
  double restarts = 3;
  double restart_share = 0.1;
};

struct ThresholdFacts {
  std::string_view name;  ///< as a user gives it
  double Thresholds::*value;
  std::string_view rule;     ///< the code that it decides about
  std::string_view meaning;  ///< with its unit
  std::string_view source;   ///< what it was taken from
};

std::span<const ThresholdFacts> threshold_table();

/// Sets one of the table: "collapse-overflows=12", a number as in an edit (2^4, 0.02). Throws `invalid_argument` and
/// names what there is.
void set_threshold(Thresholds& thresholds, std::string_view assignment);

}  // namespace tare
