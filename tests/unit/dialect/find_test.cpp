
#include "lib/dialect/found.hpp"

#include <algorithm>
#include <memory>

#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tensors.hpp"

using namespace tare;

namespace {

struct Answer {
  FoundScalers scalers;
  std::vector<Finding> findings;
};

Answer find_in(MadeTree& made, NodeId root, std::string_view file = "model.pt") {
  made.tree.root = root;
  Answer answer;
  answer.scalers = find_scalers(made.tree, {file}, answer.findings);
  return answer;
}

std::vector<std::string> paths(const Answer& answer) {
  std::vector<std::string> found;
  for (const FoundScaler& scaler : answer.scalers) found.push_back(scaler.path);
  return found;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("GradScaler's five keys are a scaler wherever they stand") {
  MadeTree made;
  const auto answer = find_in(made, made.map({{"a", made.list({made.integer(1), made.grad_scaler()})},
                                              {"b", made.map({{"deep", made.map({{"er", made.grad_scaler()}})}})}}));
  CHECK(paths(answer) == Paths{"a[1]", "b.deep.er"});
  REQUIRE(answer.scalers.size() == 2);
  const FoundScaler& scaler = answer.scalers[0];
  CHECK(scaler.dialect->kind == "loss_scale");
  CHECK(scaler.dialect->name == "torch");
  CHECK(scaler.find(Role::scale)->value.as_double() == 65536.0);
  CHECK(scaler.find(Role::growth_tracker)->name == "_growth_tracker");
  CHECK(scaler.find("growth_interval")->value.type == "int");
  CHECK(scaler.find(Role::hysteresis) == nullptr);
}

TEST_CASE("the root itself can be the scaler: its path is empty") {
  MadeTree made;
  CHECK(paths(find_in(made, made.grad_scaler(), "scaler.pt")) == Paths{""});
}

TEST_CASE("scalers whose paths are written alike are no copies of each other: each has a name of its own") {
  MadeTree made;
  const std::array by_number_and_text{made.integer(1),       made.grad_scaler(2.0), made.text("1"),
                                      made.grad_scaler(2.0), made.text("1#2"),      made.grad_scaler(4.0)};
  CHECK(paths(find_in(made, made.tree.add_items(Kind::map, by_number_and_text, {}))) == Paths{"1", "1#2", "1#2#2"});

  MadeTree dotted;
  const NodeId inner = dotted.map({{"b", dotted.grad_scaler(1.0)}});
  CHECK(paths(find_in(dotted, dotted.map({{"a", inner}, {"a.b", dotted.grad_scaler(2.0)}}))) == Paths{"a.b", "a.b#2"});

  MadeTree tuples;
  std::vector<NodeId> pairs;
  for (int i = 0; i < 3; ++i) {
    pairs.push_back(tuples.tree.add_items(Kind::tuple, std::array{tuples.integer(i)}, {}));
    pairs.push_back(tuples.grad_scaler(1.0 + i));
  }
  CHECK(paths(find_in(tuples, tuples.tree.add_items(Kind::map, pairs, {}))) ==
        Paths{"<tuple>", "<tuple>#2", "<tuple>#3"});
}

TEST_CASE("a key that the dialect does not know is a field without a role, in its place") {
  MadeTree made;
  const auto answer = find_in(made, made.map({{"note", made.text("mine")},
                                              {"scale", made.number(1.0)},
                                              {"growth_factor", made.number(2.0)},
                                              {"backoff_factor", made.number(0.5)},
                                              {"growth_interval", made.integer(2000)},
                                              {"_growth_tracker", made.integer(5)}}));
  REQUIRE(answer.scalers.size() == 1);
  const auto& fields = answer.scalers[0].fields;
  REQUIRE(fields.size() == 6);
  CHECK(fields[0].name == "note");
  CHECK_FALSE(fields[0].role);
  CHECK_FALSE(fields[0].editable);
  CHECK(fields[1].editable);
}

TEST_CASE("four of the five keys are no scaler") {
  for (const std::string_view left_out :
       {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"}) {
    MadeTree made;
    std::vector<NodeId> items;
    const NodeId whole = made.grad_scaler();
    for (std::size_t i = 0; i < 10; i += 2) {
      if (made.tree.text(made.tree.items(whole)[i]) == left_out) continue;
      items.push_back(made.tree.items(whole)[i]);
      items.push_back(made.tree.items(whole)[i + 1]);
    }
    INFO(left_out);
    const auto answer = find_in(made, made.tree.add_items(Kind::map, items, {}));
    CHECK(answer.scalers.empty());
    CHECK(answer.findings.empty());
  }
}

TEST_CASE("a hysteresis tracker makes GradScaler's state NeMo's") {
  MadeTree made;
  const auto answer = find_in(made, made.map({{"scale", made.number(65536.0)},
                                              {"growth_factor", made.number(2.0)},
                                              {"backoff_factor", made.number(0.5)},
                                              {"growth_interval", made.integer(1000)},
                                              {"_growth_tracker", made.integer(0)},
                                              {"_hysteresis_tracker", made.integer(-1)}}));
  REQUIRE(answer.scalers.size() == 1);
  CHECK(answer.scalers[0].dialect->name == "nemo");
  CHECK(answer.scalers[0].find(Role::hysteresis_tracker)->value.as_double() == -1);
}

TEST_CASE("Megatron's chained optimizers have a scaler each") {
  MadeTree made;
  const auto one = [&] {
    return made.map({{"grad_scaler", made.map({{"scale", made.number(4294967296.0)},
                                               {"growth_tracker", made.integer(0)},
                                               {"hysteresis_tracker", made.integer(2)}})}});
  };
  const auto answer = find_in(made, made.map({{"optimizer", made.list({one(), one()})}}));
  CHECK(paths(answer) == Paths{"optimizer[0].grad_scaler", "optimizer[1].grad_scaler"});
  CHECK(answer.scalers[0].dialect->name == "megatron");
}

TEST_CASE("the same keys are DeepSpeed's beside its version, and apex's elsewhere") {
  for (const bool has_version : {true, false}) {
    MadeTree made;
    const NodeId optimizer = made.map({{"dynamic_loss_scale", made.flag(true)},
                                       {"cur_scale", made.number(128.0)},
                                       {"cur_iter", made.integer(7)},
                                       {"last_overflow_iter", made.integer(2)},
                                       {"optimizer_state_dict", made.map({})},
                                       {"clip_grad", made.number(0.0)}});
    const auto answer =
        find_in(made, has_version ? made.map({{"optimizer", optimizer}, {"ds_version", made.text("0.19.8")}})
                                  : made.map({{"optimizer", optimizer}}));
    REQUIRE(answer.scalers.size() == 1);
    CHECK(answer.scalers[0].dialect->name == (has_version ? "deepspeed" : "apex"));
    CHECK(answer.scalers[0].path == "optimizer");
    CHECK(answer.scalers[0].fields.size() == 4);
    CHECK(answer.scalers[0].find("clip_grad") == nullptr);
  }
}

TEST_CASE("fairseq's loss_scale counts only in last_optimizer_state") {
  MadeTree made;
  const auto answer = find_in(
      made, made.map({{"extra_state", made.map({{"metrics", made.map({{"loss_scale", made.number(64.0)}})}})},
                      {"last_optimizer_state", made.map({{"state", made.map({})}, {"loss_scale", made.integer(128)}})},
                      {"loss_scale", made.number(1.0)}}));
  CHECK(paths(answer) == Paths{"last_optimizer_state"});
  CHECK(answer.scalers[0].fields.size() == 1);
}

TEST_CASE("a pickled scaler is told by its class, and a class of nobody's is no scaler") {
  struct Row {
    const char* module;
    const char* name;
    const char* dialect;  ///< null: no scaler
  };
  for (const Row& row :
       {Row{"deepspeed.runtime.fp16.loss_scaler", "DynamicLossScaler", "deepspeed"},
        Row{"deepspeed.pt.loss_scaler", "LossScaler", "deepspeed"},
        Row{"megatron.fp16.loss_scaler", "DynamicLossScaler", "megatron"},
        Row{"fp16.loss_scaler", "LossScaler", "megatron"},
        Row{"apex.fp16_utils.loss_scaler", "DynamicLossScaler", "apex"}, Row{"game.physics", "LossScaler", nullptr},
        Row{"deepspeed.runtime.config", "Config", nullptr}, Row{"undeepspeed.loss", "LossScaler", nullptr}}) {
    INFO(row.module << "." << row.name);
    MadeTree made;
    const NodeId attributes = made.map({{"cur_scale", made.integer(65536)}, {"dynamic", made.flag(false)}});
    const auto answer = find_in(made, made.map({{"loss_scaler", made.object(row.module, row.name, attributes)}}));
    REQUIRE(answer.scalers.size() == (row.dialect == nullptr ? 0 : 1));
    if (row.dialect != nullptr) CHECK(answer.scalers[0].dialect->name == row.dialect);
  }
}

TEST_CASE("a pickled GradScaler's values are those that it would start with; its optimizers' states are left out") {
  MadeTree made;
  const NodeId attributes = made.map({{"_init_scale", made.number(32768.0)},
                                      {"_scale", made.none()},
                                      {"_growth_factor", made.number(2.0)},
                                      {"_backoff_factor", made.number(0.5)},
                                      {"_growth_interval", made.integer(1500)},
                                      {"_init_growth_tracker", made.integer(100)},
                                      {"_growth_tracker", made.none()},
                                      {"_per_optimizer_states", made.map({})}});
  const auto answer = find_in(made, made.object("torch.amp.grad_scaler", "GradScaler", attributes));
  REQUIRE(answer.scalers.size() == 1);
  const FoundScaler& scaler = answer.scalers[0];
  CHECK(scaler.path.empty());
  CHECK(scaler.node == made.tree.root);
  CHECK(scaler.find(Role::scale)->name == "_init_scale");
  CHECK(scaler.find(Role::growth_tracker)->value.as_double() == 100);
  CHECK(scaler.find("_per_optimizer_states") == nullptr);
  CHECK_FALSE(scaler.find("_scale")->editable);
}

TEST_CASE("an attribute of an object has a path like a key") {
  MadeTree made;
  const NodeId trainer = made.object("lab.models", "Trainer", made.map({{"scaler_state", made.grad_scaler()}}));
  CHECK(paths(find_in(made, made.map({{"trainer", trainer}}))) == Paths{"trainer.scaler_state"});
}

TEST_CASE("what a scaler that is off leaves is no scaler, and nothing is wrong with it") {
  MadeTree made;
  const auto answer = find_in(made, made.map({{"scaler", made.map({})}, {"grad_scaler", made.none()}}));
  CHECK(answer.scalers.empty());
  CHECK(answer.findings.empty());
}

TEST_CASE("a scale that is the result of a call is told, not guessed") {
  MadeTree made;
  const NodeId call = made.object("os", "system", nowhere);
  const auto answer = find_in(made, made.map({{"s", made.map({{"scale", call},
                                                              {"growth_factor", made.number(2.0)},
                                                              {"backoff_factor", made.number(0.5)},
                                                              {"growth_interval", made.integer(2000)},
                                                              {"_growth_tracker", made.integer(5)}})}}));
  CHECK(answer.scalers.empty());
  REQUIRE(answer.findings.size() == 1);
  CHECK(answer.findings[0].code == "scaler-not-readable");
  CHECK(answer.findings[0].path == "s");
  CHECK(answer.findings[0].message.find("os.system") != std::string::npos);
}

TEST_CASE("one dict at two places is one scaler, at the first in file order even if that is deeper") {
  MadeTree made;
  const NodeId shared = made.grad_scaler();
  const auto answer = find_in(made, made.map({{"a", made.map({{"deep", shared}})}, {"b", shared}}));
  CHECK(paths(answer) == Paths{"a.deep"});
  CHECK(answer.scalers[0].also_at == Paths{"b"});
}

TEST_CASE("a scaler in a dict that stands at two places is at both") {
  MadeTree made;
  const NodeId shared = made.map({{"scaler", made.grad_scaler()}});
  const auto answer = find_in(made, made.map({{"a", shared}, {"b", made.list({shared})}}));
  CHECK(paths(answer) == Paths{"a.scaler"});
  CHECK(answer.scalers[0].also_at == Paths{"b[0].scaler"});
}

TEST_CASE("equal dicts that are two objects are two scalers") {
  MadeTree made;
  const auto answer = find_in(made, made.map({{"G", made.grad_scaler()}, {"D", made.grad_scaler()}}));
  CHECK(paths(answer) == Paths{"G", "D"});
  CHECK(answer.scalers[0].also_at.empty());
  CHECK_FALSE(same_state(answer.scalers[0], answer.scalers[1]));
}

TEST_CASE("a tree that holds itself is walked once") {
  MadeTree made;
  const NodeId root = made.map({{"scaler", made.grad_scaler()}});
  made.tree.append_items(root, std::array{made.text("self"), root});
  const auto answer = find_in(made, root);
  CHECK(paths(answer) == Paths{"scaler"});
  CHECK(answer.scalers[0].also_at.empty());
}

TEST_CASE("depth costs no stack") {
  MadeTree made;
  NodeId inner = made.grad_scaler();
  for (int i = 0; i < 200'000; ++i) inner = made.list({inner});
  const auto answer = find_in(made, made.map({{"top", made.grad_scaler()}, {"deep", made.none()}}));
  CHECK(paths(answer) == Paths{"top"});
  MadeTree nested;
  NodeId node = nested.map({{"x", nested.list({})}});
  for (int i = 0; i < 200'000; ++i) node = nested.list({node});
  CHECK(find_in(nested, node).scalers.empty());
}

TEST_CASE("a long list that stands at many places is looked through once") {
  MadeTree made;
  const NodeId one = made.integer(1);
  const NodeId numbers = made.tree.add_items(Kind::list, std::vector<NodeId>(300'000, one), {});
  const NodeId many = made.tree.add_items(Kind::list, std::vector<NodeId>(300'000, numbers), {});
  CHECK(paths(find_in(made, made.map({{"many", many}, {"scaler", made.grad_scaler()}}))) == Paths{"scaler"});
}

TEST_CASE("copies are the same only where every field is, in value and kind") {
  MadeTree a;
  MadeTree b;
  MadeTree c;
  const auto of = [](MadeTree& made, NodeId state) { return find_in(made, made.map({{"s", state}})).scalers.at(0); };
  const FoundScaler first = of(a, a.grad_scaler(1024.0));
  CHECK(same_state(first, of(b, b.grad_scaler(1024.0))));
  CHECK_FALSE(same_state(first, of(c, c.grad_scaler(1023.0))));
  MadeTree d;
  const NodeId with_int = d.grad_scaler();
  d.tree.replace_item(with_int, 1, d.integer(1024));
  CHECK_FALSE(same_state(first, of(d, with_int)));
}

TEST_CASE("whose place it is, is told by key, file and what is at the root") {
  struct Row {
    const char* key;
    const char* file;
    const char* beside;
    const char* place;
  };
  for (const Row& row :
       {Row{"MixedPrecision", "last.ckpt", "epoch", "Lightning, 2.1.1 or newer"},
        Row{"native_amp_scaling_state", "last.ckpt", "epoch", "Lightning, 1.5 or older"},
        Row{"FSDPPrecisionPlugin", "last.ckpt", "epoch", "Lightning, 2.1.0, with FSDP"},
        Row{"MixedPrecisionPlugin", "last.ckpt", "epoch", "Lightning, 1.9 to 2.1.0"},
        Row{"scaler", "mine.pt", "name", ""}, Row{"scaler", "checkpoint.pth", "reporter", "espnet"},
        Row{"scaler", "best.pt", "train_args", "ultralytics"}, Row{"scaler", "mine.pt", "epoch", ""}}) {
    MadeTree made;
    const auto answer =
        find_in(made, made.map({{row.key, made.grad_scaler()}, {row.beside, made.integer(1)}}), row.file);
    CHECK(answer.scalers.at(0).place == row.place);
  }
  MadeTree of_nemo;
  const NodeId state = of_nemo.map({{"_hysteresis_tracker", of_nemo.integer(1)},
                                    {"scale", of_nemo.number(1024.0)},
                                    {"growth_factor", of_nemo.number(2.0)},
                                    {"backoff_factor", of_nemo.number(0.5)},
                                    {"growth_interval", of_nemo.integer(1000)},
                                    {"_growth_tracker", of_nemo.integer(5)}});
  CHECK(find_in(of_nemo, of_nemo.map({{"PipelineMixedPrecisionPlugin", state}}), "a.ckpt").scalers.at(0).place ==
        "NeMo (PipelineMixedPrecisionPlugin)");
  MadeTree alone;
  CHECK(find_in(alone, alone.grad_scaler(), "checkpoint-9/scaler.pt").scalers.at(0).place ==
        "accelerate, or the Hugging Face Trainer");
}

TEST_CASE("states that HDF5 keeps as numbered groups are all found, the first and the last, with their paths") {
  MadeTree made;
  const auto state = [&](std::string_view path) {
    return made.map({{"schema", made.text("tare.state/1")},
                     {"path", made.text(path)},
                     {"policy", made.text("pytorch")},
                     {"fields", made.map({{"scale", made.number(8)}})}});
  };
  const NodeId states = made.map({{"0", state("a.scaler")}, {"1", state("b.scaler")}});
  const auto answer = find_in(made, made.map({{"schema", made.text("tare.states/1")}, {"states", states}}), "run.h5");
  CHECK(paths(answer) == Paths{"a.scaler", "b.scaler"});
  for (const FoundScaler& scaler : answer.scalers) {
    REQUIRE(scaler.find("fields.scale") != nullptr);
    CHECK(scaler.find("fields.scale")->value.as_double() == 8);
  }
}

TEST_CASE("DeepSpeed that saved no version yet is told by what else its engine saves, and is not taken for apex") {
  for (const char* key : {"csr_tensor_module_names", "dp_world_size"}) {
    MadeTree made;
    const NodeId optimizer = made.map({{"dynamic_loss_scale", made.flag(true)},
                                       {"cur_scale", made.number(1024.0)},
                                       {"cur_iter", made.integer(10)},
                                       {"last_overflow_iter", made.integer(-1)},
                                       {"scale_factor", made.number(2.0)},
                                       {"scale_window", made.integer(1000)}});
    const auto answer = find_in(made, made.map({{"optimizer", optimizer}, {key, made.integer(1)}}));
    REQUIRE(answer.scalers.size() == 1);
    CHECK(answer.scalers[0].place == "DeepSpeed without ZeRO");
    CHECK(growth_outlook(answer.scalers[0]).clean_steps == 991);
  }
}

TEST_CASE("a scaler below a key of several wrappers, and one of apex's, is mmengine's") {
  MadeTree made;
  const auto wrapper = [&] { return made.map({{"loss_scaler", made.grad_scaler()}}); };
  const NodeId amp = made.map({{"loss_scale", made.number(1024.0)}, {"unskipped", made.integer(3)}});
  const NodeId optimizer = made.map(
      {{"generator", wrapper()}, {"discriminator", wrapper()}, {"apex_amp", made.map({{"loss_scaler0", amp}})}});
  const auto answer = find_in(made, made.map({{"optimizer", optimizer}, {"message_hub", made.map({})}}));
  REQUIRE(answer.scalers.size() == 3);
  CHECK(answer.scalers[0].place == "mmengine (AmpOptimWrapper)");
  CHECK(answer.scalers[1].place == "mmengine (AmpOptimWrapper)");
  CHECK(answer.scalers[2].place == "mmengine (ApexOptimWrapper)");
}

TEST_CASE("a file with a name and a scaler is open_clip's only where a state_dict lies beside them") {
  for (const bool has_weights : {true, false}) {
    MadeTree made;
    const NodeId root = made.map({{"name", made.text("resnet")},
                                  {has_weights ? "state_dict" : "model", made.map({})},
                                  {"scaler", made.grad_scaler()}});
    CHECK(find_in(made, root).scalers.at(0).place == (has_weights ? "open_clip" : ""));
  }
}

TEST_CASE("of two states of Lightning's the one that it loads last is the one that a run goes on with") {
  MadeTree made;
  const auto answer = find_in(
      made, made.map({{"MixedPrecision", made.grad_scaler()}, {"native_amp_scaling_state", made.grad_scaler()}}));
  REQUIRE(answer.scalers.size() == 2);
  CHECK(answer.scalers[0].authority == Authority::no_rank);
  CHECK(answer.scalers[1].authority == Authority::every_rank);
}

TEST_CASE("FP8 state of TransformerEngine for JAX as 2.2 and before name it is told as that, and not read") {
  for (const char* name : {"amax_i_0", "fp8_meta_amax"}) {
    MadeTree made;
    const auto tensors = std::make_shared<MadeTensors>();
    const NodeId module = made.map({{name, tensors->add(made, "float32")}});
    made.tree.install(tensors);
    const auto answer = find_in(made, made.map({{"fp8_metas", made.map({{"DenseGeneral_0", module}})}}));
    CHECK(answer.scalers.empty());
    REQUIRE(answer.findings.size() == 1);
    CHECK(answer.findings[0].code == "state-not-read");
    CHECK_THAT(answer.findings[0].message, Catch::Contains("JAX before 2.3"));
  }
}

TEST_CASE("a GroupedLinear of TransformerEngine 1.x is told by its weights, or as Megatron's experts") {
  MadeTree made;
  const auto state = [&] {
    return made.map(
        {{"scale_fwd", made.number(1)}, {"extra_fp8_variables", made.map({{"num_gemms", made.integer(2)}})}});
  };
  const NodeId modules = made.map({{"grouped._extra_state", state()},
                                   {"grouped.weight0", made.none()},
                                   {"mlp._extra_state", state()},
                                   {"mlp.fc1_weight", made.none()},
                                   {"layers.0.mlp.experts.linear_fc1._extra_state", state()},
                                   {"layers.0.mlp.shared_experts.linear_fc1._extra_state", state()}});
  const auto answer = find_in(made, made.map({{"model", modules}, {"alone", made.map({{"_extra_state", state()}})}}));
  Paths grouped;
  for (const FoundScaler& one : answer.scalers) {
    if (one.dialect->fp8.has_columns_by_tensor(one)) grouped.push_back(one.path);
  }
  CHECK(answer.scalers.size() == 5);
  CHECK(grouped == Paths{"model.grouped._extra_state", "model.layers.0.mlp.experts.linear_fc1._extra_state"});
}

TEST_CASE("te.ops' two recipes have the names of their dicts, one that both share has one name") {
  MadeTree made;
  const auto recipe = [&](std::int64_t margin, NodeId algorithm) {
    return made.object("transformer_engine.common.recipe", "DelayedScaling",
                       made.map({{"margin", made.integer(margin)}, {"amax_compute_algo", algorithm}}));
  };
  const auto state = [&](NodeId forward, NodeId backward) {
    return made.map({{"forward", made.map({{"recipe", forward}, {"scale_fwd", made.number(1)}})},
                     {"backward", made.map({{"recipe", backward}, {"scale_bwd", made.number(2)}})}});
  };
  const NodeId shared = recipe(1, made.name("my_train", "my_amax"));
  const auto answer =
      find_in(made, made.map({{"a._extra_state", state(shared, shared)},
                              {"b._extra_state", state(recipe(1, made.text("max")), recipe(2, made.text("max")))}}));
  REQUIRE(answer.scalers.size() == 2);
  const FoundScaler &one = answer.scalers[0], &two = answer.scalers[1];
  const auto count = [&](std::string_view name) { return std::ranges::count(one.fields, name, &Field::name); };
  CHECK(count("recipe.margin") == 1);
  CHECK(std::get<std::string>(one.find("recipe.amax_compute_algo")->value.data) == "my_train.my_amax");
  CHECK(two.find("recipe.margin") == nullptr);
  CHECK(two.find("forward.recipe.margin")->value.as_double() == 1);
  CHECK(two.find("backward.recipe.margin")->value.as_double() == 2);
}
