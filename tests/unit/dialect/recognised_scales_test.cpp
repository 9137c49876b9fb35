// Scalers without a policy, and those of forks: what tells whose they are.
#include <algorithm>
#include <memory>
#include <string>

#include "lib/base/error.hpp"
#include "lib/dialect/policy.hpp"
#include "lib/dialect/resume.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tensors.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

struct Recognised {
  FoundScalers scalers;
  std::vector<Finding> findings;
};

Recognised recognised_in(MadeTree& made, NodeId root) {
  made.tree.root = root;
  Recognised all;
  all.scalers = find_scalers(made.tree, {"checkpoint.pt"}, all.findings);
  return all;
}

/// The only scaler, after a look that it is that dialect's.
FoundScaler only_one(MadeTree& made, NodeId root, std::string_view dialect) {
  Recognised all = recognised_in(made, root);
  REQUIRE(all.scalers.size() == 1);
  CHECK(all.findings.empty());
  CHECK(all.scalers[0].dialect->name == dialect);
  return std::move(all.scalers[0]);
}

bool has_policy(const FoundScaler& scaler) {
  try {
    to_state(scaler);
    return true;
  } catch (const Error& error) {
    CHECK(error.status == Status::unsupported);
    CHECK(std::string(error.what()).find(": it") != std::string::npos);
    return false;
  }
}

bool has_code(const FoundScaler& scaler, std::string_view code) {
  return std::ranges::any_of(judge(scaler), [&](const Finding& one) { return one.code == code; });
}

NodeId optimizer(MadeTree& made, std::string_view key, NodeId scale) {
  return made.map({{"state", made.map({})}, {"param_groups", made.list({})}, {key, scale}});
}

/// What fairseq and metaseq save, with one more group in the configuration.
NodeId of_fairseq(MadeTree& made, std::string_view group) {
  const NodeId common = made.map({{"fp16_scale_window", made.integer(256)}, {"min_loss_scale", made.number(0.03125)}});
  return made.map({{"cfg", made.map({{"common", common}, {group, made.map({})}})},
                   {"last_optimizer_state", optimizer(made, "loss_scale", made.number(64))}});
}

NodeId loss_scaler_of(MadeTree& made, std::string_view module, std::string_view prefix) {
  const std::string iter = std::string(prefix) + "iter", last = std::string(prefix) + "last_overflow_iter";
  return made.object(module, "DynamicLossScaler",
                     made.map({{"loss_scale", made.number(32768)},
                               {"scale_factor", made.number(2)},
                               {"scale_window", made.integer(2000)},
                               {"tolerance", made.number(0)},
                               {iter, made.integer(700)},
                               {last, made.integer(640)}}));
}

}  // namespace

TEST_CASE("metaseq's scale is not carried on by fairseq's rule") {
  MadeTree made;
  const FoundScaler metaseq = only_one(made, of_fairseq(made, "reshard"), "metaseq");
  CHECK_FALSE(has_policy(metaseq));
  CHECK(metaseq.known(Role::min_scale)->as_double() == 0.03125);
  CHECK(metaseq.known(Role::growth_interval) == nullptr);  // it moves with the scale
  MadeTree other;
  CHECK(has_policy(only_one(other, of_fairseq(other, "bmuf"), "fairseq")));
}

TEST_CASE("fairseq's first releases keep their scale in the extra state") {
  MadeTree made;
  const NodeId extra = made.map({{"epoch", made.integer(2)}, {"loss_scale", made.number(0)}});
  const NodeId root = made.map({{"optimizer_history", made.list({})},
                                {"last_optimizer_state", optimizer(made, "lr", made.number(1))},
                                {"extra_state", extra}});
  const FoundScaler scaler = only_one(made, root, "fairseq");
  CHECK(scaler.path == "extra_state");
  CHECK(has_policy(scaler));
  CHECK(has_code(scaler, "scale-zero"));
  MadeTree other;
  CHECK(
      recognised_in(other, other.map({{"extra_state", other.map({{"loss_scale", other.number(1)}})}})).scalers.empty());
}

TEST_CASE("a scale of 0 beside an optimizer's state is ParlAI's, and no healthy course") {
  MadeTree made;
  const NodeId root = made.map({{"optimizer", optimizer(made, "loss_scaler", made.number(0))}});
  const FoundScaler scaler = only_one(made, root, "parlai");
  CHECK_FALSE(has_policy(scaler));
  CHECK(has_code(scaler, "scale-zero"));
  MadeTree other;
  const NodeId not_a_number = optimizer(other, "loss_scaler", other.map({{"a", other.integer(1)}}));
  const Recognised none = recognised_in(other, other.map({{"optimizer", not_a_number}}));
  CHECK(none.scalers.empty());
  CHECK(none.findings.empty());
}

TEST_CASE("the pickled scalers of ParlAI and pytorch_optimizer are read") {
  struct Writer {
    std::string_view module, prefix;
  };
  for (const auto& [module, prefix] :
       {Writer{"parlai.utils.fp16", "_"}, Writer{"pytorch_optimizer.optimizer.fp16", ""}}) {
    MadeTree made;
    const NodeId scaler = loss_scaler_of(made, module, prefix);
    const FoundScaler found =
        only_one(made, made.map({{"optimizer", optimizer(made, "loss_scaler", scaler)}}), "parlai");
    CHECK(found.find(Role::scale)->value.as_double() == 32768);
    CHECK(found.find(Role::step)->value.as_double() == 700);
    CHECK(growth_outlook(found).clean_steps == 1941);  // (700 + n - 640) is a multiple of 2000 at n = 1940
    CHECK_FALSE(has_policy(found));
  }
}

TEST_CASE("MegEngine's scaler grows where its tracker has reached the interval") {
  const auto steps = [](std::int64_t tracker) {
    MadeTree made;
    const NodeId state = made.map({{"scale_factor", made.number(16384)},
                                   {"growth_factor", made.number(2)},
                                   {"backoff_factor", made.number(0.5)},
                                   {"growth_interval", made.integer(2000)},
                                   {"_growth_tracker", made.integer(tracker)}});
    const FoundScaler scaler = only_one(made, made.map({{"scaler", state}}), "megengine");
    CHECK_FALSE(has_policy(scaler));
    return growth_outlook(scaler).clean_steps;
  };
  CHECK(steps(1999) == 1);
  CHECK(steps(5000) == 1);
  CHECK(steps(0) == 2000);
}

TEST_CASE("Cerebras' and PyText's scales are judged as any other is") {
  MadeTree cerebras;
  const NodeId state = cerebras.map({{"loss_scale", cerebras.number(0)},
                                     {"steps_since_rescale", cerebras.integer(100)},
                                     {"overflows_since_rescale", cerebras.integer(0)},
                                     {"num_skipped_steps", cerebras.integer(3)}});
  CHECK(has_code(only_one(cerebras, cerebras.map({{"grad_scalar", state}}), "cerebras"), "scale-zero"));
  MadeTree pytext;
  const NodeId saved = pytext.map({{"loss_scale", pytext.number(-1)},
                                   {"overflow", pytext.flag(true)},
                                   {"optimizer_state_dict", optimizer(pytext, "lr", pytext.number(1))}});
  const FoundScaler scaler = only_one(pytext, saved, "pytext");
  CHECK(has_code(scaler, "scale-negative"));
  CHECK_FALSE(has_policy(scaler));
}

TEST_CASE("TransformerEngine for JAX is read by module, and older releases' state is not passed over") {
  MadeTree made;
  const auto tensors = std::make_shared<MadeTensors>();
  made.tree.install(tensors);
  std::vector<NodeId> items;
  for (const char* tensor : {"x", "kernel", "grad"}) {
    for (const char* product : {"_0", "_1"}) {
      const std::string name = std::string(tensor) + product;
      items.insert(items.end(), {made.text(name + "_scale"), tensors->add(made, "float32", {1})});
      items.insert(items.end(), {made.text(name + "_amax_history"), tensors->add(made, "float32", {16})});
    }
  }
  const NodeId layer = made.tree.add_items(Kind::map, items, {});
  const FoundScaler state =
      only_one(made, made.map({{"fp8_metas", made.map({{"mlp", layer}})}}), "transformer_engine_jax");
  CHECK(state.path == "fp8_metas.mlp");
  CHECK(state.fields.size() == 12);

  for (const char* key : {"fp8_meta_amax", "amax_i_0"}) {
    const NodeId old = made.map({{key, tensors->add(made, "float32", {16})}});
    const Recognised unread = recognised_in(made, made.map({{"fp8_metas", made.map({{"dense", old}})}}));
    CHECK(unread.scalers.empty());
    REQUIRE(unread.findings.size() == 1);
    CHECK(unread.findings[0].code == "state-not-read");
  }
}

TEST_CASE("a history with an index is Intel Gaudi's, and NVIDIA's releases are not told of it") {
  const auto rows = [](bool has_index, std::string_view dialect) {
    MadeTree made;
    const NodeId state = made.map({{"scale_fwd", made.number(1)},
                                   {has_index ? "amax_history_index_fwd" : "scale_inv_fwd", made.integer(0)},
                                   {"scale_bwd", made.number(1)}});
    const Recognised all = recognised_in(made, made.map({{"layer._extra_state", state}}));
    REQUIRE(all.scalers.size() == 1);
    CHECK(all.scalers[0].dialect->name == dialect);
    return told_of_resumes(trainers_of(made.tree, {"checkpoint.pt"}, all.scalers), true).size();
  };
  CHECK(rows(true, "transformer_engine_gaudi") == 0);
  CHECK(rows(false, "transformer_engine") == 1);
}

TEST_CASE("PyText's own checkpoints hold the optimizer itself, whose scale is read, too") {
  MadeTree made;
  const NodeId state = made.map({{"loss_scale", made.number(0)},
                                 {"overflow", made.flag(false)},
                                 {"optimizer_state_dict", optimizer(made, "lr", made.number(1))}});
  const NodeId saved = made.object("pytext.optimizer.fp16_optimizer", "PureFP16Optimizer", state);
  const FoundScaler scaler = only_one(made, made.map({{"optimizer", saved}}), "pytext");
  CHECK_FALSE(has_policy(scaler));
  CHECK(has_code(scaler, "scale-zero"));
}

TEST_CASE("a switch that is called a loss scaler is no scale") {
  MadeTree made;
  const NodeId root = made.map({{"optimizer", optimizer(made, "loss_scaler", made.flag(true))}});
  CHECK(recognised_in(made, root).scalers.empty());
  MadeTree other;
  CHECK(recognised_in(other, other.map({{"loss_scale", other.flag(true)},
                                        {"overflow", other.flag(true)},
                                        {"optimizer_state_dict", other.map({})}}))
            .scalers.empty());
}

TEST_CASE("MegEngine's scale without an interval is fixed, and nobody is told to give it one") {
  MadeTree made;
  const NodeId state = made.map({{"scale_factor", made.number(1024)},
                                 {"growth_factor", made.number(2)},
                                 {"backoff_factor", made.number(0.5)},
                                 {"growth_interval", made.integer(0)},
                                 {"_growth_tracker", made.integer(0)}});
  const FoundScaler scaler = only_one(made, made.map({{"scaler", state}}), "megengine");
  CHECK(judge(scaler).empty());
  CHECK_FALSE(growth_outlook(scaler).clean_steps.has_value());
  CHECK(growth_outlook(scaler).sentence.find("fixed") != std::string::npos);
}

TEST_CASE("of a state of tare's a value beside the sections is not taken for one in its own section of that name") {
  MadeTree made;
  const NodeId fields = made.map({{"scale", made.number(2)}, {"_growth_tracker", made.integer(0)}});
  const NodeId root = made.map({{"schema", made.text("tare.state/1")},
                                {"policy", made.text("torch")},
                                {"params", made.map({})},
                                {"fields", fields},
                                {"other", made.map({{"a", made.integer(1)}})},
                                {"a", made.integer(2)},
                                {"run", made.text("llama")}});
  const FoundScaler scaler = only_one(made, root, "tare");
  CHECK(scaler.find(std::string_view("other.a"))->value.as_double() == 1);
  CHECK(scaler.find(std::string_view("other.run")) != nullptr);
  CHECK(std::ranges::count(scaler.fields, "other.a", &Field::name) == 1);
}

TEST_CASE("states of a newer schema, one or several, are told as such") {
  for (const char* schema : {"tare.state/2", "tare.states/2"}) {
    MadeTree made;
    const NodeId root = made.map({{"schema", made.text(schema)}, {"states", made.list({})}});
    const Recognised found = recognised_in(made, root);
    REQUIRE(found.findings.size() == 1);
    CHECK(found.findings[0].code == "state-not-read");
    CHECK(found.findings[0].message.find(schema) != std::string::npos);
  }
}
