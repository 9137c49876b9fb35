// What a resume is said to do, of checkpoints as each trainer writes them.
#include "lib/dialect/resume.hpp"

#include <array>

#include "lib/dialect/frameworks/frameworks.hpp"
#include "tests/catch.hpp"
#include "tests/unit/dialect/made_tree.hpp"

using namespace tare;

namespace {

std::vector<Finding> told(MadeTree& made, NodeId root, std::string_view file) {
  made.tree.root = root;
  std::vector<Finding> problems;
  const FoundScalers scalers = find_scalers(made.tree, {file}, problems);
  const std::vector<SeenTrainer> seen = trainers_of(made.tree, {file}, scalers);
  return told_of_resumes(seen, !scalers.empty());
}

/// Of ultralytics, with or without a scaler.
NodeId ultralytics(MadeTree& made, std::string_view version, bool has_scaler) {
  return made.map({{"epoch", made.integer(3)},
                   {"optimizer", made.map({{"state", made.map({})}})},
                   {"train_args", made.map({{"amp", made.flag(true)}})},
                   {"version", made.text(version)},
                   {"scaler", has_scaler ? made.grad_scaler() : made.none()}});
}

}  // namespace

TEST_CASE("what a release loses is told of its checkpoints, and of no others") {
  MadeTree made;
  const auto lost = told(made, ultralytics(made, "8.3.19", false), "last.pt");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].code == "resume");
  CHECK(lost[0].severity == Severity::note);
  CHECK(lost[0].message.starts_with("ultralytics 8.3.19 keeps no scaler: "));
  CHECK(lost[0].message.ends_with("(ultralytics/ultralytics#22189)"));  // it was run: nothing more
  CHECK(told(made, ultralytics(made, "8.3.203", false), "last.pt").empty());
  CHECK(told(made, ultralytics(made, "8.3.19", true), "last.pt").empty());
}

TEST_CASE("a release that the file does not say is told as a condition") {
  MadeTree made;
  const auto lost = told(made, ultralytics(made, "main", false), "last.pt");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message.starts_with("ultralytics up to 8.3.202 keeps no scaler: "));
}

TEST_CASE("a row with conditions is told where all of them hold") {
  MadeTree made;
  const auto deepspeed = [&](std::string_view dtype, bool enabled) {
    const NodeId autocast = made.map({{"enabled", made.flag(enabled)}, {"dtype", made.text(dtype)}});
    const NodeId root =
        made.map({{"ds_version", made.text("0.19.6")}, {"ds_config", made.map({{"torch_autocast", autocast}})}});
    return told(made, root, "mp_rank_00_model_states.pt");
  };
  const auto lost = deepspeed("fp16", true);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message.starts_with("DeepSpeed 0.19.6 trains under torch_autocast with a GradScaler of torch's"));
  CHECK(deepspeed("torch.float16", true).size() == 1);
  CHECK(deepspeed("bfloat16", true).empty());
  CHECK(deepspeed("fp16", false).empty());
}

TEST_CASE("Lightning with apex is told what its release does, by the key that it is kept under") {
  MadeTree made;
  const auto apex = [&](std::string_view version, std::string_view key) {
    const NodeId scaler = made.map({{"loss_scale", made.number(65536.0)}, {"unskipped", made.integer(3)}});
    const NodeId root = made.map({{"pytorch-lightning_version", made.text(version)},
                                  {"state_dict", made.map({})},
                                  {key, made.map({{"loss_scaler0", scaler}})}});
    std::string all;
    for (const Finding& one : told(made, root, "last.ckpt")) all += one.message;
    return all;
  };
  CHECK(apex("1.5.10", "amp_scaling_state").find("Lightning 1.5.10 with apex cannot resume: it loads") !=
        std::string::npos);
  CHECK(apex("1.7.7", "ApexMixedPrecisionPlugin").find("Lightning 1.7.7 with apex cannot resume: it loads") !=
        std::string::npos);
  CHECK(apex("1.9.0", "ApexMixedPrecisionPlugin").find("Lightning 1.9.0 with apex cannot resume: the first step") !=
        std::string::npos);
  CHECK(apex("1.9.0", "MixedPrecisionPlugin").find("apex") == std::string::npos);
}

TEST_CASE("Megatron's distributed optimizer is told of where no step was taken before the save") {
  MadeTree made;
  const auto megatron = [&](bool has_stepped, bool is_distributed) {
    const NodeId group = has_stepped ? made.map({{"lr", made.number(0.1)}, {"step", made.integer(4)}})
                                     : made.map({{"lr", made.number(0.1)}});
    const NodeId scaler = made.map({{"scale", made.number(65536.0)},
                                    {"growth_tracker", made.integer(0)},
                                    {"hysteresis_tracker", made.integer(2)}});
    const NodeId optimizer =
        made.map({{"optimizer", made.map({{"param_groups", made.list({group})}})}, {"grad_scaler", scaler}});
    return told(made,
                made.map({{"args", made.map({{"use_distributed_optimizer", made.flag(is_distributed)}})},
                          {"optimizer", optimizer}}),
                "model_optim_rng.pt");
  };
  const auto lost = megatron(false, true);
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message.starts_with("Megatron saved this before any step was taken"));
  CHECK(megatron(true, true).empty());
  CHECK(megatron(false, false).empty());
}

TEST_CASE("of a constant scaler's empty state Megatron's resume is told by what the run was given") {
  const auto empty = [](auto... arguments) {
    MadeTree made;
    made.tree.root = made.map({{"args", made.map({std::pair{arguments.first, made.number(arguments.second)}...})},
                               {"optimizer", made.map({{"optimizer", made.map({})}, {"grad_scaler", made.map({})}})}});
    const auto findings = megatron_state.tell_loading(made.tree, "model_optim_rng.pt");
    REQUIRE(findings.size() == 1);
    CHECK(findings[0].code == "grad-scaler-empty");
    CHECK(findings[0].path == "optimizer.grad_scaler");
    return findings[0].message;
  };
  using Argument = std::pair<std::string_view, double>;
  const std::string begin = "grad_scaler is {}, as a constant scaler saves it: ";
  const std::string skipped =
      "\"***WARNING*** fould the grad scaler in the checkpoint but it is None in the class. Skipping loading grad "
      "scaler ...\"";
  CHECK(empty(Argument{"loss_scale", 128}) == begin + "this run goes on at its --loss-scale 128.0, and loads nothing");
  CHECK(empty(Argument{"bf16", 1}) == begin + "this run says " + skipped);
  CHECK(empty(Argument{"fp16", 1}) == begin + "with --loss-scale a run goes on at that, with --bf16 it says " +
                                          skipped + ", and with --fp16 alone it ends in KeyError: 'scale'");
}

TEST_CASE("MindSpeed is told of by its arguments, where FP8 was on") {
  MadeTree made;
  const auto run = [&](bool is_mindspeeds, NodeId fp8) {
    const NodeId args =
        is_mindspeeds ? made.map({{"fp8", fp8}, {"use_ascend_mc2", made.flag(false)}}) : made.map({{"fp8", fp8}});
    return told(made, made.map({{"args", args}}), "model_optim_rng.pt");
  };
  REQUIRE(run(true, made.text("e4m3")).size() == 1);
  CHECK(run(true, made.text("e4m3"))[0].message.starts_with("MindSpeed keeps no FP8 state"));
  CHECK(run(true, made.none()).empty());
  CHECK(run(false, made.text("e4m3")).empty());
}

TEST_CASE("TransformerEngine's first releases are told of by what their states lack") {
  MadeTree made;
  const auto state = [&](bool has_inverse, bool has_note, bool has_recipe) {
    std::vector<NodeId> items;
    const auto put = [&](std::string_view key, NodeId value) {
      items.push_back(made.text(key));
      items.push_back(value);
    };
    const NodeId one = made.list({made.number(2.0), made.number(2.0)});
    for (const char* key : {"scale_fwd", "amax_history_fwd", "scale_bwd", "amax_history_bwd"}) put(key, one);
    if (has_inverse) put("scale_inv_fwd", one);
    put("extra_fp8_variables", has_note ? made.map({{"fp8_checkpoint", made.flag(true)}}) : made.map({}));
    if (has_recipe) put("recipe", made.map({{"margin", made.integer(0)}}));
    const NodeId extra = made.tree.add_items(Kind::map, items, {});
    return told(made, made.map({{"layer._extra_state", extra}}), "model.pt");
  };
  const auto oldest = state(false, false, false);
  REQUIRE(oldest.size() == 2);
  CHECK(oldest[0].message.starts_with("TransformerEngine up to 0.7 loads the scales without their inverses"));
  CHECK(oldest[1].message.starts_with("TransformerEngine up to 0.10 saves None"));
  CHECK(state(true, false, false).size() == 1);
  CHECK(state(true, true, false).empty());
  CHECK(state(false, false, true).empty());
}

TEST_CASE("trainers that keep no scaler are told of by what else they save") {
  MadeTree made;
  const NodeId tensor = made.number(0.0);
  const NodeId none = made.map({});
  const auto first = [&](NodeId root, std::string_view file) {
    const auto lost = told(made, root, file);
    REQUIRE(lost.size() == 1);
    return lost[0].message;
  };
  CHECK(first(made.map({{"adam_mt", tensor}, {"adam_vt", tensor}}), "model.npz.optimizer.npz")
            .starts_with("Marian keeps neither its cost-scaling factor nor its counts"));
  CHECK(first(made.map({{"model_state_dict", none},
                        {"epoch_step", made.integer(1)},
                        {"batch_step", made.integer(9)},
                        {"sample_step", made.integer(72)}}),
              "runner.last.pth")
            .starts_with("Catalyst from 22.02 on keeps no scaler"));
  CHECK(first(made.map({{"models_state_dict", made.list({})}, {"optimizers_state_dict", made.list({})}}),
              "state_dict.pth")
            .starts_with("Determined warns that `scaler_state_dict` does not exist"));
  CHECK(
      first(made.map(
                {{"_start_iteration", made.integer(8)}, {"state_objects", none}, {"ppe_version", made.text("0.8.1")}}),
            "snapshot_iter_8")
          .starts_with("pytorch-pfn-extras keeps no scaler of its handler's"));
  const NodeId parameter = made.map({{"betas", made.list({})}, {"weight_decay", made.number(0.1)}});
  const std::array pair = {made.integer(0), parameter};
  CHECK(first(made.map({{"state", made.tree.add_items(Kind::map, pair, {})}, {"param_groups", made.list({})}}),
              "optimizer-0.pt")
            .starts_with("PatrickStar keeps no scaler"));
}

TEST_CASE("Catalyst's own scaler of its older releases is told to be passed over by newer ones") {
  MadeTree made;
  const NodeId root =
      made.map({{"stage_key", made.text("train")}, {"model_state_dict", made.map({})}, {"scaler", made.grad_scaler()}});
  const auto lost = told(made, root, "last.pth");
  REQUIRE(lost.size() == 1);
  CHECK(lost[0].message.starts_with("Catalyst from 22.02 on does not look for the scaler"));
}

TEST_CASE("trainers that pass over a missing state are told of") {
  MadeTree made;
  const NodeId none = made.map({});
  const auto first = [&](NodeId root) {
    const auto lost = told(made, root, "checkpoint.pt");
    REQUIRE(lost.size() == 1);
    return lost[0].message;
  };
  const auto saved = [&](std::string_view name) {
    return made.map({{name, made.text("vit")},
                     {"epoch", made.integer(3)},
                     {"version", made.integer(2)},
                     {"state_dict", none},
                     {"optimizer", none}});
  };
  CHECK(first(saved("arch")).starts_with("timm loads a checkpoint without `amp_scaler` and says nothing"));
  CHECK(first(saved("name")).starts_with("open_clip loads a checkpoint without `scaler` and says nothing"));
  CHECK(first(made.map({{"model", none},
                        {"optimizer", none},
                        {"grad_scaler", made.none()},
                        {"sampler", none},
                        {"batch_idx_train", made.integer(9)}}))
            .starts_with("icefall loads a checkpoint whose `grad_scaler` is None"));
}

TEST_CASE("the names that PyTorch's tutorials and examples use are no trainer's") {
  MadeTree made;
  const NodeId example = made.map({{"epoch", made.integer(3)},
                                   {"arch", made.text("resnet50")},
                                   {"state_dict", made.map({})},
                                   {"best_acc1", made.number(70.0)},
                                   {"optimizer", made.map({})},
                                   {"scheduler", made.map({})}});
  CHECK(told(made, example, "checkpoint.pth.tar").empty());
  for (const char* key : {"scaler", "scaler_state_dict"}) {
    CAPTURE(key);
    const NodeId root = made.map({{"epoch", made.integer(3)},
                                  {"model_state_dict", made.map({})},
                                  {"optimizer_state_dict", made.map({})},
                                  {key, made.grad_scaler()}});
    CHECK(told(made, root, "checkpoint.pth").empty());
    std::vector<Finding> problems;
    CHECK(find_scalers(made.tree, {"checkpoint.pth"}, problems).at(0).place.empty());
  }
}

TEST_CASE("a mark that is False is none") {
  MadeTree made;
  const NodeId args = made.map({{"amp", made.flag(false)}});
  const NodeId root = made.map({{"optimizer", made.map({})}, {"train_args", args}, {"version", made.text("8.0.0")}});
  CHECK(told(made, root, "last.pt").empty());
}

TEST_CASE(
    "an fp16 run of Hugging Face's Trainer is told who loses its scaler, unless DeepSpeed or fairscale keeps it") {
  MadeTree made;
  const auto arguments = [&](bool fp16, bool deepspeed, std::vector<NodeId> sharded_ddp = {}) {
    const NodeId root = made.map({{"output_dir", made.text("out")},
                                  {"fp16", made.flag(fp16)},
                                  {"logging_nan_inf_filter", made.flag(true)},
                                  {"deepspeed", deepspeed ? made.text("ds.json") : made.none()},
                                  {"sharded_ddp", made.list(std::move(sharded_ddp))}});
    std::vector<Finding> lost = told(made, root, "checkpoint-500/training_args.bin");
    std::erase_if(lost, [](const Finding& one) { return one.message.find("4.30.0 to 4.48.3") == std::string::npos; });
    return lost;
  };
  REQUIRE(arguments(true, false).size() == 1);
  CHECK(arguments(true, false)[0].message.find("a resumed one starts anew at 65536") != std::string::npos);
  CHECK(arguments(true, true).empty());
  CHECK(arguments(true, false, {made.text("simple")}).empty());
  CHECK(arguments(false, false).empty());
}

TEST_CASE("Lightning's renamed keys are told of scalers that lie under one, and of none that a command cannot move") {
  for (const char* key : {"MixedPrecision", "MegatronHalfPrecisionPlugin", "my_scaler"}) {
    MadeTree made;
    const NodeId root = made.map(
        {{"pytorch-lightning_version", made.text("2.2.0")}, {"state_dict", made.map({})}, {key, made.grad_scaler()}});
    CHECK(told(made, root, "a.ckpt").empty() == (std::string_view(key) != "MixedPrecision"));
  }
}

TEST_CASE("OpenMMLab's scaler may be static where the file does not hold the configuration") {
  MadeTree made;
  const auto of_mmcv = [&](bool has_text) {
    const NodeId fp16 = made.map({{"loss_scaler", made.grad_scaler()}});
    return told(made,
                made.map({{"meta", made.map({{"mmcv_version", made.text("1.7.2")},
                                             {"config", has_text ? made.text("fp16 = dict()") : made.none()},
                                             {"fp16", fp16}})}}),
                "epoch_1.pth");
  };
  REQUIRE(of_mmcv(false).size() == 1);
  CHECK(of_mmcv(false)[0].message.starts_with("mmcv 1.7.2 may have a static scale"));
  CHECK(of_mmcv(true).empty());
  const auto of_mmengine =
      told(made, made.map({{"meta", made.map({})}, {"optimizer", made.map({{"loss_scaler", made.grad_scaler()}})}}),
           "epoch_1.pth");
  REQUIRE(of_mmengine.size() == 1);
  CHECK(of_mmengine[0].message.starts_with("mmengine may have a static scale"));
}
