// Answers about the health of a run, as text for people.
#pragma once

#include <string>

#include "lib/chart/terminal.hpp"
#include "lib/health/doctor.hpp"
#include "lib/health/simulate_fp8.hpp"
#include "lib/health/simulation.hpp"
#include "lib/health/timeline.hpp"
#include "tools/terminal.hpp"

/// One finding: what, where, what to do.
std::string render_finding(const Terminal& terminal, const tare::HealthFinding& finding);

std::string render_diagnosis(const Terminal& terminal, const tare::Diagnosis& diagnosis);

/// The table of rules, and the thresholds that each goes by.
std::string render_rules(const Terminal& terminal);

/// The picture, the checkpoints, and what is wrong.
std::string render_timeline(const Terminal& terminal, const tare::Timeline& timeline,
                            const tare::chart::TerminalSize& size);

/// A row a setting, from what is sure to what is possible; what explains the run.
std::string render_simulation(const Terminal& terminal, const tare::Simulation& simulation);

/// A row a recipe: what saturates, what stays unused.
std::string render_fp8_simulation(const Terminal& terminal, const tare::Fp8Simulation& simulation);
