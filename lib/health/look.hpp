// The functions of the table: each looks at one run and tells what it finds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/health/rules.hpp"

namespace tare {

/// Whether one of the logs was written as that one of `kind`.
bool is_of_kind(const Examination& run, std::string_view kind);

/// "1 report", "12 reports"
std::string reports_text(std::uint64_t count);

void look_for_broken_scale(const Examination& run, std::vector<Symptom>& found);
void look_for_collapse(const Examination& run, std::vector<Symptom>& found);
void look_for_stuck(const Examination& run, std::vector<Symptom>& found);
void look_for_search(const Examination& run, std::vector<Symptom>& found);
void look_for_falling(const Examination& run, std::vector<Symptom>& found);

void look_for_low_scale(const Examination& run, std::vector<Symptom>& found);
void look_for_many_overflows(const Examination& run, std::vector<Symptom>& found);
void look_for_static_scale(const Examination& run, std::vector<Symptom>& found);
void look_for_oscillation(const Examination& run, std::vector<Symptom>& found);
void look_for_frozen(const Examination& run, std::vector<Symptom>& found);
void look_for_unscaled(const Examination& run, std::vector<Symptom>& found);
void look_for_explosion(const Examination& run, std::vector<Symptom>& found);
void look_for_manual_growth(const Examination& run, std::vector<Symptom>& found);
void look_for_backoffs_at_once(const Examination& run, std::vector<Symptom>& found);
void look_for_contradiction(const Examination& run, std::vector<Symptom>& found);
void look_for_applied_overflows(const Examination& run, std::vector<Symptom>& found);

void look_for_averages(const Examination& run, std::vector<Symptom>& found);

void look_for_lost_loss(const Examination& run, std::vector<Symptom>& found);
void look_for_lost_gradients(const Examination& run, std::vector<Symptom>& found);
void look_for_zero_loss(const Examination& run, std::vector<Symptom>& found);
void look_for_loss_rise(const Examination& run, std::vector<Symptom>& found);
void look_for_norm_spike(const Examination& run, std::vector<Symptom>& found);

void look_for_disagreeing_ranks(const Examination& run, std::vector<Symptom>& found);
void look_for_unread_saves(const Examination& run, std::vector<Symptom>& found);
void look_for_other_scalers(const Examination& run, std::vector<Symptom>& found);
void look_for_restart_loop(const Examination& run, std::vector<Symptom>& found);
void look_for_reset(const Examination& run, std::vector<Symptom>& found);

}  // namespace tare
