// Runs as trainers lay them out: which save a resume takes, by the trainers' own tables.
#include <algorithm>
#include <chrono>
#include <filesystem>

#include "lib/checkpoint/checkpoint.hpp"
#include "lib/checkpoint/resolve.hpp"
#include "lib/dialect/rank_name.hpp"
#include "tests/catch.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;
using Catch::Contains;

namespace {

constexpr const char* scaler = "torch_npu/scaler_file/scaler.pt";

std::string resolved(const Scratch& run) {
  const std::string whole = open_checkpoint(run.path(), {}).resolved;
  return whole.substr(std::min(run.path().size() + 1, whole.size()));
}

void lerobot_steps(const Scratch& run) {
  for (const char* step : {"000500", "001000", "001500"}) {
    run.copy("lerobot/scaler_state_json/checkpoints/001000/training_state/scaler_state.json",
             std::string("checkpoints/") + step + "/training_state/scaler_state.json");
  }
}

}  // namespace

TEST_CASE("lerobot's link decides, and not the highest step") {
  const Scratch run;
  lerobot_steps(run);
  run.link("001000", "checkpoints/last");
  CHECK(resolved(run) == "checkpoints/001000");
}

TEST_CASE("a copy of a run that lost its links holds their text") {
  const Scratch run;
  lerobot_steps(run);
  run.write("checkpoints/last", "000500");
  CHECK(resolved(run) == "checkpoints/000500");
}

TEST_CASE("a link that leads out of the run is not followed") {
  const Scratch run;
  lerobot_steps(run);
  for (const char* to : {"../elsewhere", "/tmp", "gone"}) {
    CAPTURE(to);
    run.link(to, "checkpoints/last");
    CHECK(open_checkpoint(run.path(), {}).scalers.size() == 3);  // all of them: none is chosen
    std::filesystem::remove(run.path("checkpoints/last"));
  }
}

TEST_CASE("FunASR resumes from model.pt, whatever is beside it") {
  const Scratch run;
  for (const char* name : {"model.pt", "model.pt.best", "model.pt.ep1.500", "model.pt.ep1.1000"}) {
    run.copy(std::string("funasr/run_folder/") + name, name);
  }
  CHECK(resolved(run) == "model.pt");
}

TEST_CASE("AI2 Tango follows its link, and takes the highest step where there is none") {
  const Scratch run;
  for (const char* step : {"checkpoint_state_step8", "checkpoint_state_step16"}) {
    for (const char* worker : {"worker0_grad_scaler.pt", "worker1_grad_scaler.pt"}) {
      run.copy(std::string("tango/two_workers/checkpoint_state_step8/") + worker, std::string(step) + "/" + worker);
    }
  }
  CHECK(resolved(run) == "checkpoint_state_step16");
  run.link("checkpoint_state_step8", "checkpoint_state_latest");
  CHECK(resolved(run) == "checkpoint_state_step8");
}

TEST_CASE("sd-scripts has no rule: its saves are listed, and one is asked for") {
  const Scratch run;
  const auto save = [&](const std::string& name) {
    run.copy(scaler, name + "/scaler.pt");
    run.copy("sd_scripts/state_folders/out/lora-step00000500-state/random_states_0.pkl", name + "/random_states_0.pkl");
  };
  save("lora-step00000500-state");
  CHECK(resolved(run) == "lora-step00000500-state");
  save("lora-state");
  CHECK_THROWS_WITH(open_checkpoint(run.path(), {}),
                    Contains("2 saves") && Contains("no rule") && Contains("lora-state, lora-step00000500-state"));
}

TEST_CASE("Determined's folders are named by UUIDs: which one a trial resumes from its master knows") {
  const Scratch run;
  const auto save = [&](const std::string& uuid) {
    run.copy("determined/state_dict/run/3f6a9f0e-7c1e-4d0a-9f58-0a4b8f0c5d21/state_dict.pth", uuid + "/state_dict.pth");
  };
  save("3f6a9f0e-7c1e-4d0a-9f58-0a4b8f0c5d21");
  CHECK(resolved(run) == "3f6a9f0e-7c1e-4d0a-9f58-0a4b8f0c5d21");
  save("0a1b2c3d-7c1e-4d0a-9f58-0a4b8f0c5d21");
  CHECK_THROWS_WITH(open_checkpoint(run.path(), {}), Contains("2 saves") && Contains("Determined has no rule"));
}

TEST_CASE("Paxml's highest step is its own, and not accelerate's") {
  const Scratch run;
  for (const char* name : {"checkpoint_00000003", "checkpoint_00000010"}) {
    run.copy("torch_npu/scaler_file/scaler.pt", std::string(name) + "/state/scaler.pt");
  }
  const Checkpoint checkpoint = open_checkpoint(run.path(), {});
  REQUIRE_FALSE(checkpoint.findings.empty());
  CHECK(checkpoint.findings[0].message ==
        "a run of 2 checkpoints: checkpoint_00000010 is the highest, what Paxml resumes from");
}

TEST_CASE("of a run whose pointer is gone the highest is shown, which its trainer would not resume from") {
  const Scratch run;
  for (const char* name : {"global_step9", "global_step10"}) {
    run.copy("torch_npu/scaler_file/scaler.pt", std::string(name) + "/scaler.pt");
  }
  const Checkpoint checkpoint = open_checkpoint(run.path(), {});
  REQUIRE_FALSE(checkpoint.findings.empty());
  CHECK(checkpoint.findings[0].message ==
        "a run of 2 checkpoints: global_step10 is the highest; DeepSpeed resumes from what latest names, which is not "
        "there");
}

TEST_CASE("all trainers that follow one pointer alike are named") {
  const Scratch run;
  run.copy("torch_npu/scaler_file/scaler.pt", "epoch_3.pth");
  run.write("last_checkpoint", "epoch_3.pth");
  const Checkpoint checkpoint = open_checkpoint(run.path(), {});
  REQUIRE_FALSE(checkpoint.findings.empty());
  CHECK(checkpoint.findings[0].message ==
        "a run: epoch_3.pth is what detectron2 or mmengine resumes from (last_checkpoint)");
}

TEST_CASE("a pointer that a crash left empty, or of zeros, is refused, and no other save taken in its place") {
  const Scratch run;
  for (const char* name : {"global_step9", "global_step10"}) {
    run.copy("torch_npu/scaler_file/scaler.pt", std::string(name) + "/scaler.pt");
  }
  const auto [text, says] = GENERATE(table<std::string, std::string>({
      {"", "is empty"},
      {std::string(12, '\0'), "zero bytes"},
      {"global_step9\nglobal_step10\n", "which is nothing beside it"},
  }));
  run.write("latest", text);
  CHECK_THROWS_WITH(open_checkpoint(run.path(), {}), Contains("latest") && Contains(says));
}

TEST_CASE("TensorFlow's pointer to a name with an accent or a quote in it finds its save") {
  const auto [text, prefix] = GENERATE(table<std::string, std::string>({
      {"\"mod\\303\\250le-1\"", "mod\303\250le-1"},
      {"\"l\\'essai-2\"", "l'essai-2"},
      {"'a\\x41\\tb-3'", "aA\tb-3"},
  }));
  const Scratch run;
  run.write(prefix + ".index", "");
  run.write("checkpoint", "model_checkpoint_path: " + text + "\n");
  std::vector<Finding> led_there;
  CHECK(resolve_run(local_files(), run.path(), led_there) == prefix + ".index");
}

TEST_CASE("NeMo passes over a save that its marker tells to be unfinished, and so does an edit of the run") {
  const bool is_folder = GENERATE(false, true);
  const std::string older = "gpt--loss=2.1-step=100-last", newest = "gpt--loss=2.0-step=200-last";
  const Scratch run;
  for (const std::string& name : {older, newest}) {
    run.copy(scaler, name + (is_folder ? "/scaler.pt" : ".ckpt"));
    if (is_folder) run.write(name + "/metadata.json", "{}");
  }
  run.write(newest + "-unfinished", "");
  CHECK(resolved(run) == older + (is_folder ? "" : ".ckpt"));
  const auto findings = open_checkpoint(run.path(), {}).findings;
  CHECK(std::ranges::any_of(findings, [](const Finding& one) { return one.code == "incomplete-checkpoint"; }));
}

TEST_CASE("beside an unfinished save of NeMo's the only other one is taken, and the half of one never is") {
  const Scratch run;
  const std::string save = "megatron_gpt--val_loss=2.10-step=100-consumed_samples=800.0";
  const std::string newest = "megatron_gpt--val_loss=2.05-step=200-consumed_samples=1600.0";
  run.copy(scaler, newest + ".ckpt");
  run.write(newest + "-unfinished", "");
  CHECK_THROWS_WITH(open_checkpoint(run.path(), {}), Catch::Contains("no save in it was finished"));
  run.copy(scaler, save + ".ckpt");
  CHECK(open_checkpoint(run.path(), {}).resolved == run.path(save + ".ckpt"));
}

TEST_CASE("what trainers resume from by a fixed name is what is read, and not every save of the run at once") {
  struct Layout {
    std::vector<std::string> saves;
    std::string last;
  };
  const auto layout = GENERATE(values<Layout>({
      {{"checkpoint1.pt", "checkpoint_2_2000.pt", "checkpoint_best.pt", "checkpoint_last.pt"}, "checkpoint_last.pt"},
      {{"epoch_1.pth", "epoch_2.pth", "latest.pth"}, "latest.pth"},
      {{"epoch=0-step=10.ckpt", "epoch=1-step=20.ckpt", "hpc_ckpt_1.ckpt"}, "hpc_ckpt_1.ckpt"},
  }));
  const Scratch run;
  for (const std::string& save : layout.saves) run.copy(scaler, save);
  CHECK(resolved(run) == layout.last);
  CHECK(open_checkpoint(run.path(), {})
            .findings.at(0)
            .message.starts_with("a run of " + std::to_string(layout.saves.size()) + " checkpoints: " + layout.last));
}

TEST_CASE("Composer's link to a folder, and mmcv's to a file, decide") {
  const Scratch composer;
  for (const char* save : {"ep0-ba10", "ep0-ba20"}) composer.copy(scaler, std::string(save) + "/scaler.pt");
  composer.link("ep0-ba10", "latest-rank0.pt");
  CHECK(resolved(composer) == "ep0-ba10");
  const Scratch mmcv;
  for (const char* save : {"epoch_1.pth", "epoch_2.pth"}) mmcv.copy(scaler, save);
  mmcv.link("epoch_1.pth", "latest.pth");
  CHECK(resolved(mmcv) == "epoch_1.pth");
}

TEST_CASE("a folder checkpoint_3 is accelerate's only where its random states lie in one") {
  const Scratch run;
  for (const char* name : {"checkpoint_2", "checkpoint_3"}) run.copy(scaler, std::string(name) + "/scaler.pt");
  const auto told = [&] { return open_checkpoint(run.path(), {}).findings.at(0).message; };
  CHECK(told() == "a run of 2 checkpoints: checkpoint_3 is the highest");
  run.write("checkpoint_2/random_states_0.pkl", "");
  CHECK(told() == "a run of 2 checkpoints: checkpoint_3 is the highest, what accelerate resumes from");
}

TEST_CASE("of a run that was moved it is told that mmengine looks in its old place, and a copy of one is refused") {
  const Scratch run;
  run.copy(scaler, "moved/epoch_3.pth");
  run.write("moved/last_checkpoint", run.path("old/epoch_3.pth"));
  const Checkpoint checkpoint = open_checkpoint(run.path("moved"), {});
  REQUIRE(checkpoint.findings.size() > 1);
  CHECK(checkpoint.findings[0].message ==
        "a run: epoch_3.pth has the name of what detectron2 or mmengine resumes from (last_checkpoint)");
  CHECK(checkpoint.findings[1].severity == Severity::warning);
  CHECK_THAT(checkpoint.findings[1].message, Contains("which is not there: mmengine looks for it"));
  run.copy(scaler, "old/epoch_3.pth");
  CHECK_THROWS_WITH(open_checkpoint(run.path("moved"), {}), Contains("mmengine resumes from that file"));
  run.write("old/last_checkpoint", run.path("old/epoch_3.pth"));
  CHECK(open_checkpoint(run.path("old"), {}).findings[0].message.starts_with("a run: epoch_3.pth is what"));
}

TEST_CASE("ranks of InternEvo are written without separators, in its optimizer's files alone") {
  CHECK(rank_group("7/optimizer_tp0_pp1_zo12.pt") == "7/optimizer_tp*_pp*_zo*.pt");
  CHECK(rank_group("7/optimizer_tp0_wp0_pp1_dp3.pt") == "7/optimizer_tp*_wp*_pp*_dp*.pt");
  CHECK(rank_group("model_tp8/model.pt") == std::nullopt);
  CHECK(rank_group("worker1_grad_scaler.pt") == "worker*_grad_scaler.pt");
  CHECK(rank_group("trainer/pp_00/tp_00/sdp_01.pt") == "trainer/pp*/tp*/sdp*.pt");
}

TEST_CASE("copies of InternEvo's ranks that differ are told, across tensor-parallel ranks too") {
  const Scratch run;
  for (const char* name : {"optimizer_tp0_pp0_zo0.pt", "optimizer_tp0_pp0_zo1.pt", "optimizer_tp1_pp0_zo0.pt"}) {
    run.copy(std::string("internevo/tp2_zero2/200/") + name, name);
  }
  run.copy("internevo/hybrid_zero/100/optimizer_tp0_pp0_zo0.pt", "optimizer_tp1_pp0_zo1.pt");
  const Checkpoint checkpoint = open_checkpoint(run.path(), {});
  REQUIRE(checkpoint.scalers.size() == 2);
  CHECK_FALSE(checkpoint.scalers[0].agree);
}

TEST_CASE("of Lightning's files that may each be the last one the newest is read, be it a file or a folder") {
  namespace fs = std::filesystem;
  const auto written = [](const Scratch& run, const std::string& name, int minute) {
    fs::last_write_time(run.path(name), fs::file_time_type(std::chrono::hours(24) + std::chrono::minutes(minute)));
  };
  for (const char* newest : {"last.ckpt", "last-v1.ckpt", "last-epoch=1-step=20.ckpt"}) {
    const Scratch run;
    int minute = 0;
    for (const char* name : {"epoch=1-step=20.ckpt", "last.ckpt", "last-v1.ckpt", "last-epoch=1-step=20.ckpt"}) {
      run.copy(scaler, name);
      written(run, name, ++minute);
    }
    written(run, newest, 100);
    CHECK(resolved(run) == newest);
    CHECK(open_checkpoint(run.path(), {})
              .findings.at(0)
              .message.ends_with("is what Lightning's ckpt_path=\"last\" loads, the newest of 3 that it may be"));
  }
  const Scratch run;
  for (const char* name : {"epoch=1-step=20.ckpt", "last.ckpt"}) {
    run.copy(scaler, std::string(name) + "/scaler.pt");
  }
  CHECK(resolved(run) == "last.ckpt");
}
