// Every trace through the typed rule that a framework's name stands for.
#include <cstdio>
#include <functional>
#include <map>

#include "tests/catch.hpp"
#include "tests/unit/rule/members.hpp"

using namespace tare;
using namespace tare::rule;
using namespace tare::test;

namespace {

/// Parameters that are not plain members.
template <class Params>
bool put_special(Params&, const std::string& key, const Json&) {
  return key == "variant" || key == "kind";
}

bool put_special(ApexParams& params, const std::string& key, const Json& value) {
  if (key != "loss_scale") return false;
  if (value != "dynamic") params.loss_scale = number_of(value).real + static_cast<double>(number_of(value).integer);
  return true;
}

bool put_special(FlaxParams& params, const std::string& key, const Json& value) {
  if (key != "minimum_scale" || !value.is_null()) return false;
  params.minimum_scale = -INFINITY;
  return true;
}

bool put_special(JmpParams& params, const std::string& key, const Json& value) {
  if (key != "dtype") return false;
  REQUIRE(value == "float16");
  params.dtype = Dtype::f16;
  return true;
}

bool put_special(MindformersAdaptiveParams& params, const std::string& key, const Json& value) {
  if (key != "window_list") return false;
  for (const Json& window : value) params.window_list.values[params.window_list.count++] = window;
  return true;
}

template <class State, class Params>
Outcome<State> step_of(const State& state, const Params& params, const Json& step) {
  return next(state, params, step["overflow"].get<bool>());
}

/// torch's traces say more than whether there was an overflow.
Outcome<TorchState> step_of(const TorchState& state, const TorchParams& params, const Json& step) {
  if (step.contains("new_scale")) {
    const bool python_only = step["new_scale_type"] == "int" || step["new_scale"].is_array();
    return python_only ? Outcome<TorchState>{state} : with_scale(state, number_of(step["new_scale"]).real);
  }
  if (!step["found_inf"].is_array()) {
    const float found = static_cast<float>(number_of(step["found_inf"]).real);
    return next(state, params, &found, 1);
  }
  std::vector<float> found;
  for (const Json& value : step["found_inf"]) found.push_back(static_cast<float>(number_of(value).real));
  return next(state, params, found.data(), static_cast<int64_t>(found.size()));
}

Outcome<LayerwiseState> step_of(const LayerwiseState& state, const LayerwiseParams& params, const Json& step) {
  LayerStatistics statistics{};
  const Members<LayerStatistics> members = {{"gradient_mean", &LayerStatistics::gradient_mean},
                                            {"gradient_deviation", &LayerStatistics::gradient_deviation},
                                            {"weight_mean", &LayerStatistics::weight_mean},
                                            {"weight_deviation", &LayerStatistics::weight_deviation},
                                            {"largest_product", &LayerStatistics::largest_product},
                                            {"fan_in", &LayerStatistics::fan_in},
                                            {"prev_scale", &LayerStatistics::prev_scale}};
  for (const auto& [name, value] : step["statistics"].items()) REQUIRE(put(statistics, members, name, value));
  return next(state, params, statistics);
}

template <class Params, class State>
class TypedRule {
 public:
  TypedRule(Members<Params> params, Members<State> fields) : params_(std::move(params)), fields_(std::move(fields)) {}

  void operator()(const Json& trace, Tally& tally) const {
    ++tally.traces;
    Params params;
    for (const auto& [key, value] : trace["params"].items()) {
      CAPTURE(key);
      REQUIRE((put_special(params, key, value) || put(params, params_, key, value)));
    }
    if constexpr (std::is_same_v<Params, LayerwiseParams>) params.quantile = layerwise_quantile(params.n_uf_threshold);
    State state = initial(params);
    const Json start = trace.value("start", Json::object());
    for (const auto& [name, value] : start.items()) REQUIRE((value.is_null() || put(state, fields_, name, value)));
    for (const Json& step : trace["steps"]) run_step(step, params, state, tally);
  }

 private:
  void run_step(const Json& step, const Params& params, State& state, Tally& tally) const {
    if (!step.contains("overflow") && !step.contains("new_scale") && !step.contains("statistics")) return;  // refused
    Outcome<State> outcome{state};
    const int64_t repeat = step.value("repeat", int64_t{1});
    for (int64_t i = 0; i < repeat; ++i, ++tally.steps) outcome = step_of(outcome.state, params, step);
    const bool python_only =
        step.value("new_scale_type", "") == "int" || (step.contains("new_scale") && step["new_scale"].is_array());
    if (step.contains("error") && !python_only) CHECK(outcome.raised == raised_of(step["error"]));
    if (!step.contains("error")) CHECK(outcome.raised == Raised::nothing);
    if (step.contains("skipped")) CHECK(outcome.skip == step["skipped"].get<bool>());
    state = outcome.state;
    const Json after = step.value("after", Json::object());
    for (const auto& [name, value] : after.items()) {
      const Number actual = got(state, fields_, name);
      if (value.is_null() || same(number_of(value), actual)) continue;
      ++tally.differences;
      FAIL_CHECK(name << " is " << shown(actual) << ", the framework has " << value);
    }
  }

  Members<Params> params_;
  Members<State> fields_;
};

using Run = std::function<void(const Json&, Tally&)>;

Run hysteresis_rule() {
  return TypedRule<NemoParams, NemoState>({{"init_scale", &NemoParams::init_scale},
                                           {"growth_factor", &NemoParams::growth_factor},
                                           {"backoff_factor", &NemoParams::backoff_factor},
                                           {"growth_interval", &NemoParams::growth_interval},
                                           {"hysteresis", &NemoParams::hysteresis}},
                                          {{"scale", &NemoState::scale},
                                           {"growth_tracker", &NemoState::growth_tracker},
                                           {"hysteresis_tracker", &NemoState::hysteresis_tracker}});
}

std::map<std::string, Run> pytorch_rules() {
  return {
      {"torch", TypedRule<TorchParams, TorchState>(
                    {{"growth_factor", &TorchParams::growth_factor},
                     {"backoff_factor", &TorchParams::backoff_factor},
                     {"growth_interval", &TorchParams::growth_interval}},
                    {{"scale", &TorchState::scale}, {"growth_tracker", &TorchState::growth_tracker}})},
      {"apex",
       TypedRule<ApexParams, ApexState>({{"init_scale", &ApexParams::init_scale},
                                         {"min_loss_scale", &ApexParams::min_loss_scale},
                                         {"max_loss_scale", &ApexParams::max_loss_scale},
                                         {"scale_window", &ApexParams::scale_window},
                                         {"scale_factor", &ApexParams::scale_factor}},
                                        {{"loss_scale", &ApexState::scale}, {"unskipped", &ApexState::unskipped}})},
  };
}

std::map<std::string, Run> apex_rules() {
  return {
      {"apex_contrib",
       TypedRule<ApexContribParams, ApexContribState>({{"dynamic_loss_scale", &ApexContribParams::dynamic_loss_scale},
                                                       {"scale_factor", &ApexContribParams::scale_factor},
                                                       {"scale_window", &ApexContribParams::scale_window}},
                                                      {{"cur_scale", &ApexContribState::scale},
                                                       {"cur_iter", &ApexContribState::cur_iter},
                                                       {"last_overflow_iter", &ApexContribState::last_overflow_iter}})},
      {"apex_fp16_utils",
       TypedRule<ApexFp16UtilsParams, ApexFp16UtilsState>(
           {{"scale_factor", &ApexFp16UtilsParams::scale_factor}, {"scale_window", &ApexFp16UtilsParams::scale_window}},
           {{"cur_scale", &ApexFp16UtilsState::scale},
            {"cur_iter", &ApexFp16UtilsState::cur_iter},
            {"last_overflow_iter", &ApexFp16UtilsState::last_overflow_iter}})},
  };
}

std::map<std::string, Run> trainer_rules() {
  return {
      {"nemo", hysteresis_rule()},
      {"megatron",
       TypedRule<MegatronParams, MegatronState>({{"initial_scale", &MegatronParams::initial_scale},
                                                 {"min_scale", &MegatronParams::min_scale},
                                                 {"growth_factor", &MegatronParams::growth_factor},
                                                 {"backoff_factor", &MegatronParams::backoff_factor},
                                                 {"growth_interval", &MegatronParams::growth_interval},
                                                 {"hysteresis", &MegatronParams::hysteresis}},
                                                {{"scale", &MegatronState::scale},
                                                 {"growth_tracker", &MegatronState::growth_tracker},
                                                 {"hysteresis_tracker", &MegatronState::hysteresis_tracker}})},
      {"fairseq",
       TypedRule<FairseqParams, FairseqState>({{"init_scale", &FairseqParams::init_scale},
                                               {"scale_factor", &FairseqParams::scale_factor},
                                               {"scale_window", &FairseqParams::scale_window},
                                               {"tolerance", &FairseqParams::tolerance},
                                               {"threshold", &FairseqParams::threshold},
                                               {"min_loss_scale", &FairseqParams::min_loss_scale}},
                                              {{"loss_scale", &FairseqState::scale},
                                               {"iter", &FairseqState::iter},
                                               {"last_overflow_iter", &FairseqState::last_overflow_iter},
                                               {"last_rescale_iter", &FairseqState::last_rescale_iter},
                                               {"overflows_since_rescale", &FairseqState::overflows_since_rescale}})},
      {"colossalai",
       TypedRule<ColossalaiParams, ColossalaiState>({{"initial_scale", &ColossalaiParams::initial_scale},
                                                     {"growth_factor", &ColossalaiParams::growth_factor},
                                                     {"backoff_factor", &ColossalaiParams::backoff_factor},
                                                     {"growth_interval", &ColossalaiParams::growth_interval},
                                                     {"min_scale", &ColossalaiParams::min_scale},
                                                     {"max_scale", &ColossalaiParams::max_scale},
                                                     {"hysteresis", &ColossalaiParams::hysteresis}},
                                                    {{"scale", &ColossalaiState::scale},
                                                     {"growth_step", &ColossalaiState::growth_step},
                                                     {"hysteresis_step", &ColossalaiState::hysteresis_step}})},
      {"bmtrain",
       TypedRule<BmtrainParams, BmtrainState>(
           {{"loss_scale", &BmtrainParams::loss_scale},
            {"loss_scale_enabled", &BmtrainParams::loss_scale_enabled},
            {"loss_scale_factor", &BmtrainParams::loss_scale_factor},
            {"loss_scale_steps", &BmtrainParams::loss_scale_steps},
            {"min_loss_scale", &BmtrainParams::min_loss_scale},
            {"max_loss_scale", &BmtrainParams::max_loss_scale}},
           {{"loss_scale", &BmtrainState::scale}, {"steps_since_last_scale", &BmtrainState::steps_since_last_scale}})},
      {"torch_npu", TypedRule<TorchNpuParams, TorchNpuState>(
                        {{"growth_factor", &TorchNpuParams::growth_factor},
                         {"backoff_factor", &TorchNpuParams::backoff_factor},
                         {"growth_interval", &TorchNpuParams::growth_interval},
                         {"dynamic", &TorchNpuParams::dynamic}},
                        {{"scale", &TorchNpuState::scale}, {"_growth_tracker", &TorchNpuState::growth_tracker}})},
  };
}

std::map<std::string, Run> deepspeed_rules() {
  const TypedRule<DeepspeedWrapperParams, DeepspeedWrapperState> wrapper(
      {{"dynamic_loss_scale", &DeepspeedWrapperParams::dynamic_loss_scale},
       {"scale_factor", &DeepspeedWrapperParams::scale_factor},
       {"init_scale", &DeepspeedWrapperParams::init_scale},
       {"scale_window", &DeepspeedWrapperParams::scale_window},
       {"min_scale", &DeepspeedWrapperParams::min_scale},
       {"loss_scale", &DeepspeedWrapperParams::loss_scale}},
      {{"cur_scale", &DeepspeedWrapperState::scale},
       {"cur_iter", &DeepspeedWrapperState::cur_iter},
       {"last_overflow_iter", &DeepspeedWrapperState::last_overflow_iter}});
  return {
      {"zero", TypedRule<DeepspeedZeroParams, DeepspeedZeroState>(
                   {{"init_scale", &DeepspeedZeroParams::init_scale},
                    {"scale_window", &DeepspeedZeroParams::scale_window},
                    {"min_scale", &DeepspeedZeroParams::min_scale},
                    {"delayed_shift", &DeepspeedZeroParams::delayed_shift},
                    {"consecutive_hysteresis", &DeepspeedZeroParams::consecutive_hysteresis},
                    {"raise_error_at_min_scale", &DeepspeedZeroParams::raise_error_at_min_scale}},
                   {{"cur_scale", &DeepspeedZeroState::scale},
                    {"cur_iter", &DeepspeedZeroState::cur_iter},
                    {"last_overflow_iter", &DeepspeedZeroState::last_overflow_iter},
                    {"cur_hysteresis", &DeepspeedZeroState::cur_hysteresis}})},
      {"fused", wrapper},
      {"unfused", wrapper},
      {"static", TypedRule<DeepspeedStaticParams, DeepspeedStaticState>({{"scale", &DeepspeedStaticParams::scale}},
                                                                        {{"cur_scale", &DeepspeedStaticState::scale}})},
  };
}

std::map<std::string, Run> mindspore_rules() {
  using Adaptive = MindformersAdaptiveParams;
  using AdaptiveState = MindformersAdaptiveState;
  return {
      {"dynamic", TypedRule<MindsporeParams, MindsporeState>(
                      {{"loss_scale_value", &MindsporeParams::loss_scale_value},
                       {"scale_factor", &MindsporeParams::scale_factor},
                       {"scale_window", &MindsporeParams::scale_window}},
                      {{"scale_sense", &MindsporeState::scale},
                       {"current_iterator_step", &MindsporeState::current_iterator_step},
                       {"last_overflow_iterator_step", &MindsporeState::last_overflow_iterator_step}})},
      {"fixed", TypedRule<ConstantParams, ConstantState>({{"loss_scale_value", &ConstantParams::initial_scale}},
                                                         {{"scale_sense", &ConstantState::scale}})},
      {"mindspore_amp", TypedRule<MindsporeAmpParams, MindsporeAmpState>(
                            {{"scale_value", &MindsporeAmpParams::scale_value},
                             {"scale_factor", &MindsporeAmpParams::scale_factor},
                             {"scale_window", &MindsporeAmpParams::scale_window}},
                            {{"scale_value", &MindsporeAmpState::scale}, {"counter", &MindsporeAmpState::counter}})},
      {"mindspore_manager", TypedRule<MindsporeManagerParams, MindsporeManagerState>(
                                {{"init_loss_scale", &MindsporeManagerParams::init_loss_scale},
                                 {"scale_factor", &MindsporeManagerParams::scale_factor},
                                 {"scale_window", &MindsporeManagerParams::scale_window}},
                                {{"loss_scale", &MindsporeManagerState::scale},
                                 {"cur_iter", &MindsporeManagerState::cur_iter},
                                 {"last_overflow_iter", &MindsporeManagerState::last_overflow_iter},
                                 {"bad_step", &MindsporeManagerState::bad_step}})},
      {"mindformers_adaptive", TypedRule<Adaptive, AdaptiveState>(
                                   {{"loss_scale_value", &Adaptive::loss_scale_value},
                                    {"scale_factor", &Adaptive::scale_factor},
                                    {"scale_window", &Adaptive::scale_window},
                                    {"max_scale_window", &Adaptive::max_scale_window},
                                    {"min_scale_window", &Adaptive::min_scale_window}},
                                   {{"scale_sense", &AdaptiveState::scale},
                                    {"scale_window", &AdaptiveState::scale_window},
                                    {"list_index", &AdaptiveState::list_index},
                                    {"scale_window_up_count", &AdaptiveState::scale_window_up_count},
                                    {"scale_window_down_count", &AdaptiveState::scale_window_down_count},
                                    {"current_iterator_step", &AdaptiveState::current_iterator_step},
                                    {"last_overflow_iterator_step", &AdaptiveState::last_overflow_iterator_step}})},
  };
}

std::map<std::string, Run> other_rules() {
  return {
      {"paddle",
       TypedRule<PaddleParams, PaddleState>({{"incr_ratio", &PaddleParams::incr_ratio},
                                             {"decr_ratio", &PaddleParams::decr_ratio},
                                             {"incr_every_n_steps", &PaddleParams::incr_every_n_steps},
                                             {"decr_every_n_nan_or_inf", &PaddleParams::decr_every_n_nan_or_inf},
                                             {"use_dynamic_loss_scaling", &PaddleParams::use_dynamic_loss_scaling}},
                                            {{"scale", &PaddleState::scale},
                                             {"incr_count", &PaddleState::incr_count},
                                             {"decr_count", &PaddleState::decr_count}})},
      {"paddle_static", TypedRule<PaddleStaticParams, PaddleStaticState>(
                            {{"incr_ratio", &PaddleStaticParams::incr_ratio},
                             {"decr_ratio", &PaddleStaticParams::decr_ratio},
                             {"incr_every_n_steps", &PaddleStaticParams::incr_every_n_steps},
                             {"decr_every_n_nan_or_inf", &PaddleStaticParams::decr_every_n_nan_or_inf},
                             {"stop_update", &PaddleStaticParams::stop_update}},
                            {{"loss_scaling", &PaddleStaticState::scale},
                             {"num_good_steps", &PaddleStaticState::num_good_steps},
                             {"num_bad_steps", &PaddleStaticState::num_bad_steps}})},
      {"oneflow", TypedRule<OneflowParams, OneflowState>(
                      {{"init_scale", &OneflowParams::init_scale},
                       {"growth_factor", &OneflowParams::growth_factor},
                       {"growth_interval", &OneflowParams::growth_interval}},
                      {{"LossScale", &OneflowState::scale}, {"GoodStepCounter", &OneflowState::good_step_counter}})},
      {"keras", TypedRule<KerasParams, KerasState>(
                    {{"dynamic_growth_steps", &KerasParams::dynamic_growth_steps}},
                    {{"dynamic_scale", &KerasState::scale}, {"step_counter", &KerasState::step_counter}})},
      {"tf_keras", TypedRule<TfKerasParams, TfKerasState>(
                       {{"growth_steps", &TfKerasParams::growth_steps}, {"multiplier", &TfKerasParams::multiplier}},
                       {{"current_loss_scale", &TfKerasState::scale}, {"good_steps", &TfKerasState::good_steps}})},
      {"flax", TypedRule<FlaxParams, FlaxState>({{"growth_interval", &FlaxParams::growth_interval},
                                                 {"minimum_scale", &FlaxParams::minimum_scale},
                                                 {"growth_factor", &FlaxParams::growth_factor},
                                                 {"backoff_factor", &FlaxParams::backoff_factor}},
                                                {{"scale", &FlaxState::scale}, {"fin_steps", &FlaxState::fin_steps}})},
      {"jmp", TypedRule<JmpParams, JmpState>({{"period", &JmpParams::period},
                                              {"factor", &JmpParams::factor},
                                              {"min_loss_scale", &JmpParams::min_loss_scale}},
                                             {{"loss_scale", &JmpState::scale}, {"counter", &JmpState::counter}})},
      {"layerwise", TypedRule<LayerwiseParams, LayerwiseState>(
                        {{"power_of_two", &LayerwiseParams::power_of_two},
                         {"scale_upper_bound", &LayerwiseParams::scale_upper_bound},
                         {"accum_upper_bound", &LayerwiseParams::accum_upper_bound},
                         {"n_uf_threshold", &LayerwiseParams::n_uf_threshold},
                         {"update_per_n_iteration", &LayerwiseParams::update_per_n_iteration}},
                        {{"scale", &LayerwiseState::scale},
                         {"accumulated", &LayerwiseState::accumulated},
                         {"unbound", &LayerwiseState::unbound},
                         {"cur_iter", &LayerwiseState::cur_iter}})},
  };
}

std::map<std::string, Run> all_rules() {
  std::map<std::string, Run> rules = pytorch_rules();
  rules.merge(apex_rules());
  rules.merge(trainer_rules());
  rules.merge(deepspeed_rules());
  rules.merge(mindspore_rules());
  rules.merge(other_rules());
  return rules;
}

std::string rule_of(const VectorFile& file, const Json& trace) {
  const Json& params = trace["params"];
  if (file.rule == "deepspeed") return params["variant"];
  if (file.rule == "mindspore") return params["kind"];
  return file.rule;
}

}  // namespace

TEST_CASE("every typed rule reproduces its framework's traces to the bit") {
  const std::map<std::string, Run> rules = all_rules();
  std::map<std::string, Tally> tallies;
  Tally all;
  for (const VectorFile& file : vector_files()) {
    if (!file.content.contains("traces")) continue;
    for (const Json& trace : file.content["traces"]) {
      const auto rule = rules.find(rule_of(file, trace));
      if (rule == rules.end()) break;  // FP8: whether none is missed the count below tells
      CAPTURE(rule->first, trace["why"].get<std::string>());
      rule->second(trace, tallies[rule->first]);
    }
  }
  for (const auto& [name, tally] : tallies) {
    all.traces += tally.traces;
    all.steps += tally.steps;
    all.differences += tally.differences;
  }
  std::printf("typed rules: %lld traces, %lld steps, %lld differences\n", static_cast<long long>(all.traces),
              static_cast<long long>(all.steps), static_cast<long long>(all.differences));
  CHECK(tallies.size() == rules.size());
  CHECK(all.traces == 251);
  CHECK(all.differences == 0);
}
