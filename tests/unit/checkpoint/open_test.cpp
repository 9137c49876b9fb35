// What a path leads to: files, rank folders, runs, and what is wrong with them.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lib/base/error.hpp"
#include "lib/checkpoint/checkpoint.hpp"
#include "tests/catch.hpp"
#include "tests/places.hpp"
#include "tests/status_of.hpp"
#include "tests/unit/checkpoint/scratch.hpp"

using namespace tare;

namespace {

const std::string rank0 = "torch/rank-files-t2.15/step100/rank0.pt";
const std::string other_rank = "torch/rank-files-disagree/step100/rank1.pt";
const std::string lone_scaler = "torch/scaler-file-t2.15/scaler.pt";

const Finding* find(const Checkpoint& checkpoint, std::string_view code) {
  const auto is_it = [&](const Finding& finding) { return finding.code == code; };
  const auto finding = std::find_if(checkpoint.findings.begin(), checkpoint.findings.end(), is_it);
  return finding == checkpoint.findings.end() ? nullptr : &*finding;
}

std::vector<std::string> paths(const Checkpoint& checkpoint) {
  std::vector<std::string> found;
  for (const CheckpointFile& file : checkpoint.files) found.push_back(file.path);
  return found;
}

Status status_of(const std::string& path) {
  return test::status_of([&] { open_checkpoint(path, {}); });
}

using Paths = std::vector<std::string>;

/// This machine's files, each of whose reads is kept; somebody may come before one is opened.
class WatchedFiles final : public Files {
 public:
  class Watched final : public Source {
   public:
    Watched(std::shared_ptr<const Source> file, std::vector<Span>& reads) : file_(std::move(file)), reads_(reads) {}
    [[nodiscard]] std::uint64_t size() const override { return file_->size(); }
    [[nodiscard]] const std::string& name() const override { return file_->name(); }
    void read(std::uint64_t offset, std::span<std::byte> to) const override {
      reads_.push_back({offset, to.size()});
      file_->read(offset, to);
    }

   private:
    std::shared_ptr<const Source> file_;
    std::vector<Span>& reads_;
  };

  [[nodiscard]] FileType type(const std::string& path) const override { return local_files().type(path); }
  [[nodiscard]] std::vector<FileEntry> list(const std::string& folder) const override {
    return local_files().list(folder);
  }
  [[nodiscard]] std::shared_ptr<const Source> open(const std::string& path) const override {
    if (before_open) before_open(path);
    return std::make_shared<Watched>(local_files().open(path), reads);
  }
  [[nodiscard]] bool is_shareable() const override { return false; }

  std::function<void(const std::string& path)> before_open;
  mutable std::vector<Span> reads;
};

/// A file of so many bytes with a tensor of zeros.
std::string safetensors_of(std::size_t size) {
  const auto header_of = [](std::size_t bytes) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[{0}],"data_offsets":[0,{0}]}}}})", bytes);
  };
  const std::size_t zeros = size - 8 - header_of(10'000).size();
  const std::string header = header_of(zeros);
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  file += header;
  file.resize(size, '\0');
  return file;
}

}  // namespace

TEST_CASE("a file's path is told relative to its folder") {
  const Scratch scratch;
  scratch.copy(rank0, "a/model.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("a/model.pt"), {});
  CHECK(paths(checkpoint) == Paths{"model.pt"});
  CHECK(checkpoint.files[0].location == scratch.path("a/model.pt"));
  CHECK(checkpoint.files[0].format == "torch_zip");
  CHECK(checkpoint.files[0].size == std::filesystem::file_size(scratch.path("a/model.pt")));
  CHECK(checkpoint.resolved == checkpoint.target);
}

TEST_CASE("rank files that hold the same are one scaler, in the order of their numbers") {
  const Scratch scratch;
  for (const int rank : {10, 9, 2, 0}) scratch.copy(rank0, "step/rank" + std::to_string(rank) + ".pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  CHECK(paths(checkpoint) == Paths{"rank0.pt", "rank2.pt", "rank9.pt", "rank10.pt"});
  REQUIRE(checkpoint.scalers.size() == 1);
  CHECK(checkpoint.scalers[0].agree);
  CHECK(checkpoint.scalers[0].copies.size() == 4);
}

TEST_CASE("ranks that disagree are scalers of their own, and that is an error") {
  const Scratch scratch;
  for (const int rank : {0, 1, 3}) scratch.copy(rank0, "step/rank" + std::to_string(rank) + ".pt");
  scratch.copy(other_rank, "step/rank2.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  REQUIRE(checkpoint.scalers.size() == 2);
  CHECK_FALSE(checkpoint.scalers[0].agree);
  CHECK_FALSE(checkpoint.scalers[1].agree);
  CHECK(checkpoint.scalers[0].copies.size() == 3);
  const Finding* finding = find(checkpoint, "copies-disagree");
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::error);
  CHECK(finding->path == "scaler");
  CHECK(finding->message ==
        "rank files disagree, in scale first: scale 65536.0 in rank0.pt and 2 more; "
        "scale 32768.0 in rank2.pt; the majority, 3 of 4, has scale 65536.0");
}

TEST_CASE("files of different epochs are no copies of one another") {
  const Scratch scratch;
  scratch.copy(rank0, "run/epoch_1.pt");
  scratch.copy(other_rank, "run/epoch_2.pt");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("run"), {});
  REQUIRE(checkpoint.scalers.size() == 2);
  CHECK(checkpoint.scalers[0].agree);
  CHECK(checkpoint.scalers[1].agree);
  CHECK(find(checkpoint, "copies-disagree") == nullptr);
}

TEST_CASE("a rank file that cannot be read is an error beside the others") {
  const Scratch scratch;
  scratch.copy(rank0, "step/rank0.pt");
  for (const std::string_view broken :
       {std::string_view(""), std::string_view("PK\3\4 no more"), std::string_view("a text")}) {
    scratch.write("step/rank1.pt", broken);
    const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
    CHECK(checkpoint.scalers.size() == 1);
    const Finding* finding = find(checkpoint, "file-not-read");
    REQUIRE(finding != nullptr);
    CHECK(finding->severity == Severity::error);
    CHECK(finding->file == "rank1.pt");
  }
}

TEST_CASE("a rank's file that goes while its folder is read is told, and the others are read") {
  const Scratch scratch;
  for (const char* name : {"step/rank0.pt", "step/rank1.pt", "step/rank2.pt"}) scratch.copy(rank0, name);
  WatchedFiles files;
  files.before_open = [&](const std::string& path) {
    if (path.ends_with("rank1.pt")) std::filesystem::remove(path);
  };
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {.files = &files});
  CHECK(paths(checkpoint) == Paths{"rank0.pt", "rank2.pt"});
  const Finding* finding = find(checkpoint, "file-not-read");
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::error);
  CHECK(finding->file == "rank1.pt");
}

TEST_CASE("a small file is fetched once, and of a larger one no more than what is needed") {
  const Scratch scratch;
  const auto reads = [&](std::size_t size) {
    scratch.write("model.safetensors", safetensors_of(size));
    WatchedFiles files;
    open_checkpoint(scratch.path("model.safetensors"), {.files = &files});
    return files.reads;
  };
  for (const std::size_t size : {std::size_t{12} << 10, std::size_t{16} << 10}) {
    INFO(size);
    REQUIRE(reads(size).size() == 1);
    CHECK(reads(size)[0].size == size);
  }
  for (const Span& read : reads((16 << 10) + 1)) CHECK(read.size < (16 << 10));
}

TEST_CASE("of a step that is being written each rank's file is told of that is cut short or not there yet") {
  const Scratch scratch;
  const auto name = [](int rank) {
    return "step/zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt";
  };
  for (const int rank : {0, 1, 2, 5}) {
    scratch.copy("deepspeed/zero1_1rank/ckpt/global_step3/zero_pp_rank_0_mp_rank_00_optim_states.pt", name(rank));
  }
  std::filesystem::resize_file(scratch.path(name(1)), std::filesystem::file_size(scratch.path(name(1))) / 2);
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  REQUIRE(checkpoint.scalers.size() == 1);
  CHECK(checkpoint.scalers[0].copies.size() == 3);
  REQUIRE(find(checkpoint, "file-not-read") != nullptr);
  CHECK(find(checkpoint, "file-not-read")->severity == Severity::error);
  CHECK(find(checkpoint, "file-not-read")->file == "zero_pp_rank_1_mp_rank_00_optim_states.pt");
  REQUIRE(find(checkpoint, "rank-missing") != nullptr);
  CHECK_THAT(find(checkpoint, "rank-missing")->message, Catch::Contains("ranks 3_0, 4_0"));
}

TEST_CASE("where no file can be read, that is what is thrown") {
  const Scratch scratch;
  scratch.write("step/rank0.pt", "PK\3\4 no more");
  scratch.write("step/rank1.pt", "PK\3\4 no more");
  CHECK(status_of(scratch.path("step")) == Status::corrupt);
  CHECK(status_of(scratch.path("step/rank0.pt")) == Status::corrupt);
  CHECK(status_of(scratch.path("nowhere")) == Status::io);
}

TEST_CASE("a folder without a checkpoint is told so, with what is in it") {
  const Scratch scratch;
  scratch.write("run/README.md", "notes");
  scratch.write("run/.tare/journal", "PK\3\4");
  CHECK_THROWS_WITH(open_checkpoint(scratch.path("run"), {}),
                    Catch::Contains("no checkpoint in this folder (it has README.md)"));
  CHECK(status_of(scratch.path("run")) == Status::not_found);
}

TEST_CASE("files that are no checkpoints, and tare's own, do not disturb") {
  const Scratch scratch;
  scratch.copy(lone_scaler, "state/scaler.pt");
  scratch.write("state/config.json", "{}");
  scratch.write("state/model.safetensors", "no such thing");
  scratch.write("state/counter.ckpt", "3\n");
  scratch.write("state/weights.raw", "\x01\x02\x03");
  scratch.write("state/.tare/journal", "PK\3\4 no more");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("state"), {});
  CHECK(paths(checkpoint) == Paths{"scaler.pt"});
  for (const Finding& finding : checkpoint.findings) CHECK(finding.severity == Severity::note);
}

TEST_CASE("a Git LFS pointer in the place of a scaler is an error, not a checkpoint without one") {
  const Scratch scratch;
  scratch.copy(rank0, "state/optimizer.bin");
  scratch.write("state/scaler.pt", "version https://git-lfs.github.com/spec/v1\n");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("state"), {});
  REQUIRE(find(checkpoint, "file-not-read") != nullptr);
  CHECK(find(checkpoint, "file-not-read")->severity == Severity::error);
}

TEST_CASE("DeepSpeed's pointer rules, not the highest number") {
  const Scratch scratch;
  scratch.copy(rank0, "run/global_step5/rank0.pt");
  scratch.copy(other_rank, "run/global_step10/rank0.pt");
  scratch.write("run/latest", "global_step5\n");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("run"), {});
  CHECK(paths(checkpoint) == Paths{"global_step5/rank0.pt"});
  CHECK(checkpoint.resolved == scratch.path("run") + "/global_step5");
  REQUIRE(find(checkpoint, "run-directory") != nullptr);
  CHECK(find(checkpoint, "run-directory")->message == "a run: global_step5 is what DeepSpeed resumes from (latest)");
}

TEST_CASE("Megatron's pointer is a number or the word release") {
  const Scratch scratch;
  scratch.copy(rank0, "run/iter_0000003/mp_rank_00/model_optim_rng.pt");
  scratch.copy(rank0, "run/release/mp_rank_00/model_optim_rng.pt");
  scratch.write("run/latest_checkpointed_iteration.txt", "3");
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"iter_0000003/mp_rank_00/model_optim_rng.pt"});
  scratch.write("run/latest_checkpointed_iteration.txt", "release");
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"release/mp_rank_00/model_optim_rng.pt"});
  scratch.write("run/latest_checkpointed_iteration.txt", "the last");
  CHECK(status_of(scratch.path("run")) == Status::refused);
}

TEST_CASE(
    "an optimizer whose second moments and eps are 0 in float16 is warned of, and no other one of the corpus is") {
  const auto warnings = [](const std::string& path) {
    const Checkpoint checkpoint = open_checkpoint(path, {});
    return std::ranges::count(checkpoint.findings, "adam-half", &Finding::code);
  };
  CHECK(warnings(TARE_TEST_SOURCE "/data/optimizers/adam_fp16.pt") == 1);
  const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";
  CHECK(warnings(corpus + "torch/train-t2.15/checkpoint.pth") == 0);
  CHECK(warnings(corpus + "msamp/adamw/checkpoint.pt") == 0);
}

TEST_CASE("second moments of an optimizer that are all 0 after its steps are told of, and none of healthy ones") {
  const auto told = [](const std::string& path) {
    const Checkpoint checkpoint = open_checkpoint(path, {});
    const Finding* finding = find(checkpoint, "moments-zero");
    return finding == nullptr ? std::string() : finding->message.substr(0, finding->message.find(':'));
  };
  const std::string optimizers = TARE_TEST_SOURCE "/data/optimizers/";
  CHECK(
      told(optimizers + "adam_zero.pt") ==
      "second moments (exp_avg_sq, float16) hold nothing but 0 after 20 steps, in all 2 that were looked at (those of "
      "at most 4096 elements)");
  CHECK(told(optimizers + "adam_fp16.pt").starts_with("second moments (exp_avg_sq, float16) hold nothing but 0"));
  for (const char* path :
       {"torch/train-t2.15/checkpoint.pth", "msamp/adamw/checkpoint.pt", "lightning/v2_6/last.ckpt"}) {
    INFO(path);
    CHECK(told(std::string(TARE_TEST_DATA) + "/corpus/" + path).empty());
  }
}

TEST_CASE("a static graph's scaler is read from a file a variable, whichever of them is given") {
  const std::string folder = std::string(TARE_TEST_DATA) + "/corpus/paddle/static_amp_save_vars/persistables";
  for (const char* file : {"", "/loss_scaling_0", "/num_good_steps_0"}) {
    INFO(file);
    const Checkpoint checkpoint = open_checkpoint(folder + file, {});
    REQUIRE(checkpoint.scalers.size() == 1);
    CHECK(files_of(checkpoint.scalers[0]).size() == 3);
    CHECK(checkpoint.scalers[0].state().find(Role::scale)->value.as_double() == 512.0);
  }
}

TEST_CASE("of several saves in a folder the one counts that mindformers noted as the last") {
  const Scratch scratch;
  for (const char* rank : {"rank_0", "rank_1"}) {
    const std::string folder = std::string("checkpoint/") + rank;
    scratch.copy("mindspore/fixed_cell/net.ckpt", folder + "/net-1_10.ckpt");
    scratch.copy("mindspore/dynamic_cell/net.ckpt", folder + "/net-1_5.ckpt");
    scratch.write(folder + "/meta.json", R"({"last_epoch": 1, "last_step": 5, "last_ckpt_file": "net-1_5.ckpt"})");
  }
  const Checkpoint checkpoint = open_checkpoint(scratch.path("checkpoint"), {});
  CHECK(paths(checkpoint) == Paths{"rank_0/net-1_5.ckpt", "rank_1/net-1_5.ckpt"});
  CHECK(checkpoint.scalers.size() == 1);
  CHECK(find(checkpoint, "run-directory") != nullptr);
  scratch.write("checkpoint/rank_0/meta.json", R"({"last_ckpt_file": "../rank_1/net-1_5.ckpt"})");
  scratch.write("checkpoint/rank_1/meta.json", "[]");
  CHECK(paths(open_checkpoint(scratch.path("checkpoint"), {})).size() == 4);
}

TEST_CASE("mindformers' pointer has Megatron's name, and another folder beside it") {
  const Scratch scratch;
  scratch.copy("mindspore/dynamic_cell/net.ckpt", "run/iteration_00000069/net.ckpt");
  scratch.copy("mindspore/dynamic_cell/net.ckpt", "run/iteration_00000070/net.ckpt");
  scratch.write("run/latest_checkpointed_iteration.txt", "69");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("run"), {});
  CHECK(paths(checkpoint) == Paths{"iteration_00000069/net.ckpt"});
  CHECK(find(checkpoint, "run-directory")->message ==
        "a run: iteration_00000069 is what mindformers resumes from (latest_checkpointed_iteration.txt)");
  scratch.write("run/latest_checkpointed_iteration.txt", "71");
  CHECK(status_of(scratch.path("run")) == Status::not_found);
}

TEST_CASE("without a pointer the highest number rules, compared as a number, also below checkpoints/") {
  const Scratch scratch;
  scratch.copy(lone_scaler, "hf/checkpoint-9/scaler.pt");
  scratch.copy(lone_scaler, "hf/checkpoint-10/scaler.pt");
  scratch.copy(lone_scaler, "hf/checkpoint-11x/scaler.pt");
  scratch.copy(lone_scaler, "hf/tmp-checkpoint-12/scaler.pt");  // renamed when it is all there
  scratch.write("hf/training_args.bin", "PK\3\4 no more");
  CHECK(paths(open_checkpoint(scratch.path("hf"), {})) == Paths{"checkpoint-10/scaler.pt"});
  scratch.copy(lone_scaler, "project/checkpoints/checkpoint_2/scaler.pt");
  scratch.copy(lone_scaler, "project/checkpoints/checkpoint_12/scaler.pt");
  CHECK(paths(open_checkpoint(scratch.path("project"), {})) == Paths{"checkpoints/checkpoint_12/scaler.pt"});
}

TEST_CASE("of Lightning's files the last is read, by its name or by its step") {
  const Scratch scratch;
  for (const char* name : {"epoch=0-step=9.ckpt", "epoch=1-step=20.ckpt", "epoch=1-step=100.ckpt", "hparams.yaml"}) {
    scratch.copy(lone_scaler, std::string("run/") + name);
  }
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"epoch=1-step=100.ckpt"});
  CHECK(find(open_checkpoint(scratch.path("run"), {}), "run-directory")->message ==
        "a run of 3 checkpoints: epoch=1-step=100.ckpt is the highest");
  scratch.copy(lone_scaler, "run/last.ckpt");
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"last.ckpt"});
  scratch.copy(lone_scaler, "run/scaler.ckpt");  // nobody knows whether this is a part of any of them
  CHECK(open_checkpoint(scratch.path("run"), {}).scalers.size() == 5);
}

TEST_CASE("a file of another name beside Lightning's may belong to any of them, so that none is chosen") {
  const Scratch scratch;
  for (const char* name : {"epoch=0-step=9.ckpt", "epoch=1-step=20.ckpt", "scaler.ckpt"}) {
    scratch.copy(lone_scaler, std::string("run/") + name);
  }
  CHECK(open_checkpoint(scratch.path("run"), {}).files.size() == 3);
}

TEST_CASE("of saves that share the highest step none is the last") {
  const Scratch scratch;
  for (const char* name : {"epoch=1-step=20.ckpt", "epoch=1-step=20-v1.ckpt", "epoch=0-step=9.ckpt"}) {
    scratch.copy(lone_scaler, std::string("run/") + name);
  }
  CHECK(open_checkpoint(scratch.path("run"), {}).scalers.size() == 3);
}

TEST_CASE("last beside best is what is read, unless something else is there that may belong to it") {
  const Scratch scratch;
  for (const char* name : {"best.pt", "last.pt", "epoch10.pt", "results.csv"}) {
    scratch.copy(lone_scaler, std::string("weights/") + name);
  }
  CHECK(paths(open_checkpoint(scratch.path("weights"), {})) == Paths{"last.pt"});
  scratch.copy(lone_scaler, "weights/optimizer.pt");
  CHECK(open_checkpoint(scratch.path("weights"), {}).files.size() == 4);
  scratch.copy(lone_scaler, "alone/last.pt");
  CHECK(find(open_checkpoint(scratch.path("alone"), {}), "run-directory") == nullptr);
}

TEST_CASE("files of one prefix and a number are flax's run, ranks' files are not") {
  const Scratch scratch;
  for (const char* name : {"model_1", "model_2", "model_11"}) scratch.copy(lone_scaler, std::string("run/") + name);
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"model_11"});
  for (const char* name : {"rank_0", "rank_1"}) scratch.copy(rank0, std::string("ranks/") + name);
  CHECK(open_checkpoint(scratch.path("ranks"), {}).files.size() == 2);
}

TEST_CASE("the only run below a folder is found") {
  const Scratch scratch;
  for (const char* name : {"epoch=0-step=9.ckpt", "epoch=1-step=20.ckpt"}) {
    scratch.copy(lone_scaler, std::string("logs/checkpoints/") + name);
  }
  scratch.write("logs/hparams.yaml", "lr: 1");
  const Checkpoint checkpoint = open_checkpoint(scratch.path("logs"), {});
  CHECK(paths(checkpoint) == Paths{"checkpoints/epoch=1-step=20.ckpt"});
  CHECK(checkpoint.resolved == scratch.path("logs") + "/checkpoints/epoch=1-step=20.ckpt");
  CHECK(find(checkpoint, "run-directory") != nullptr);
}

TEST_CASE("a folder of runs is refused with their names") {
  const Scratch scratch;
  for (const char* run : {"a", "b"}) {
    scratch.copy(rank0, std::string("runs/") + run + "/global_step1/rank0.pt");
    scratch.write(std::string("runs/") + run + "/latest", "global_step1");
  }
  try {
    open_checkpoint(scratch.path("runs"), {});
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(error.status == Status::refused);
    CHECK(std::string(error.what()) == scratch.path("runs") + ": 2 runs are in this folder");
    CHECK(error.hint == "give one of them: " + scratch.path("runs/a") + ", " + scratch.path("runs/b"));
  }
  scratch.copy(lone_scaler, "runs/scaler.pt");
  CHECK(open_checkpoint(scratch.path("runs"), {}).scalers.size() > 1);
}

TEST_CASE("a folder of runs is refused however deep they lie, and unless a file lies in none") {
  const Scratch scratch;
  for (const char* run : {"all/a/run", "all/b", "all/c/logs"}) {
    for (const char* step : {"500", "1000"}) {
      scratch.copy(lone_scaler, fmt::format("{}/checkpoint-{}/scaler.pt", run, step));
    }
  }
  try {
    open_checkpoint(scratch.path("all"), {});
    FAIL("not refused");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == scratch.path("all") + ": 3 runs are in this folder");
    CHECK(error.hint == fmt::format("give one of them: {}, {}, {}", scratch.path("all/a/run"), scratch.path("all/b"),
                                    scratch.path("all/c/logs")));
  }
  CHECK(paths(open_checkpoint(scratch.path("all/a"), {})) == Paths{"run/checkpoint-1000/scaler.pt"});
  scratch.copy(lone_scaler, "all/c/best/scaler.pt");
  CHECK(open_checkpoint(scratch.path("all"), {}).files.size() == 7);
}

TEST_CASE("a Trainer's checkpoint may hold DeepSpeed's, with a pointer of its own") {
  const Scratch scratch;
  scratch.copy(rank0, "run/checkpoint-20/global_step20/rank0.pt");
  scratch.write("run/checkpoint-20/latest", "global_step20");
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"checkpoint-20/global_step20/rank0.pt"});
}

TEST_CASE("a pointer that leads out of the run is refused, and one to nothing is told") {
  const Scratch scratch;
  scratch.copy(rank0, "outside/rank0.pt");
  scratch.copy(rank0, "run/global_step1/rank0.pt");
  scratch.link("../outside", "run/away");
  for (const std::string& name : {std::string("../outside"), scratch.path("outside"), std::string("a/../../outside"),
                                  std::string("away"), std::string()}) {
    INFO(name);
    scratch.write("run/latest", name);
    CHECK(status_of(scratch.path("run")) == Status::refused);
  }
  scratch.write("run/latest", "global_step2");
  CHECK(status_of(scratch.path("run")) == Status::not_found);
}

TEST_CASE("last_checkpoint leads to one file of many, also where the folder has moved since") {
  const Scratch scratch;
  for (const char* epoch : {"run/epoch_1.pth", "run/epoch_2.pth"}) scratch.copy(lone_scaler, epoch);
  for (const char* text : {"epoch_1.pth", "/somewhere/else/run/epoch_1.pth"}) {
    scratch.write("run/last_checkpoint", text);
    const Checkpoint checkpoint = open_checkpoint(scratch.path("run"), {});
    CHECK(paths(checkpoint) == Paths{"epoch_1.pth"});
    CHECK(checkpoint.resolved == scratch.path("run") + "/epoch_1.pth");
    CHECK(checkpoint.scalers.size() == 1);
  }
  scratch.write("run/last_checkpoint", "epoch_3.pth");
  CHECK(status_of(scratch.path("run")) == Status::not_found);
  scratch.write("run/last_checkpoint", "..");
  CHECK(status_of(scratch.path("run")) == Status::refused);
}

TEST_CASE("a checkpoint may itself be called latest") {
  const Scratch scratch;
  scratch.copy(lone_scaler, "run/latest");
  CHECK(paths(open_checkpoint(scratch.path("run"), {})) == Paths{"latest"});
}

TEST_CASE("a link out of a checkpoint is not followed, one that the user gives is") {
  const Scratch scratch;
  scratch.copy(rank0, "blobs/0123");
  scratch.copy(lone_scaler, "snapshot/scaler.pt");
  scratch.link("../blobs/0123", "snapshot/model.pt");
  scratch.link("scaler.pt", "snapshot/same.pt");
  const Checkpoint folder = open_checkpoint(scratch.path("snapshot"), {});
  CHECK(paths(folder) == Paths{"scaler.pt"});
  REQUIRE(find(folder, "link-not-followed") != nullptr);
  CHECK(find(folder, "link-not-followed")->file == "model.pt");
  const Checkpoint file = open_checkpoint(scratch.path("snapshot/model.pt"), {});
  CHECK(file.scalers.size() == 1);
  CHECK(find(file, "symbolic-link") != nullptr);
}

TEST_CASE("links in circles and to nothing are errors, not hangs") {
  const Scratch scratch;
  scratch.link("loop.pt", "loop.pt");
  scratch.link("gone", "dangling.pt");
  CHECK(status_of(scratch.path("loop.pt")) == Status::io);
  CHECK(status_of(scratch.path("dangling.pt")) == Status::io);
}

TEST_CASE("a universal checkpoint's parameters are not opened one by one") {
  const std::string corpus =
      std::string(TARE_TEST_DATA) + "/corpus/deepspeed/zero1_universal/ckpt/global_step5_universal";
  const Checkpoint checkpoint = open_checkpoint(corpus, {});
  CHECK(paths(checkpoint) == Paths{"mp_rank_00_model_states.pt", "zero/optimizer_state.pt"});
}

TEST_CASE("a distributed checkpoint that is a call, nothing, or not finished is refused") {
  const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";
  CHECK(status_of(corpus + "hostile/dcp-call/dcp") == Status::corrupt);
  CHECK(status_of(corpus + "hostile/dcp-empty/dcp") == Status::corrupt);
  const Scratch scratch;
  scratch.write("step/__0_0.distcp", "PK\3\4");
  CHECK(status_of(scratch.path("step")) == Status::not_found);
}

TEST_CASE("common.pt of a distributed checkpoint is read") {
  const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";
  const Checkpoint checkpoint = open_checkpoint(corpus + "nemo/dist_ckpt/megatron_gpt--step=9-last", {});
  CHECK(paths(checkpoint) == Paths{".metadata", "common.pt"});
  REQUIRE(checkpoint.scalers.size() == 1);
  CHECK(files_of(checkpoint.scalers[0]) == std::vector<std::size_t>{1});
}

TEST_CASE("FP8 state is found in every container, also beside a loss scale, and only where there is some") {
  const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";
  const auto layers = [&](const std::string& file) {
    const Checkpoint checkpoint = open_checkpoint(corpus + file, {});
    CHECK(find(checkpoint, "state-not-read") == nullptr);
    return std::count_if(checkpoint.scalers.begin(), checkpoint.scalers.end(),
                         [](const Scaler& scaler) { return scaler.state().dialect->kind == "fp8"; });
  };
  CHECK(layers("transformer_engine/te2.20_delayed/model.pt") == 4);
  CHECK(layers("transformer_engine/te1.13_4layers/model.pt") == 4);
  CHECK(layers("transformer_engine/te2.20_safetensors/model.safetensors") == 2);
  CHECK(layers("transformer_engine/te2.20_megatron_torch/ckpt/iter_0000010") == 8);
  CHECK(layers("transformer_engine/te2.20_megatron_dist/ckpt") == 8);
  CHECK(layers("transformer_engine/te2.20_dcp/ckpt") == 2);
  CHECK(layers("torchao/delayed_0_9/checkpoint.pt") == 2);
  CHECK(layers("torchao/float8_weight_only/model.pt") == 2);
  CHECK(layers("msamp/adamw/checkpoint.pt") == 6);
  CHECK(layers("safetensors_fp8/deepseek_2_shards/model") == 2);
  for (const char* file : {"transformer_engine/te2.20_mxfp8/model.pt", "transformer_engine/te2.0_no_fp8/model.pt",
                           "megatron/dist_bf16/ckpt/iter_0000001", "megatron/dist_tp2/ckpt/iter_0000200",
                           "torch/train-t2.15/checkpoint.pth"}) {
    INFO(file);
    CHECK(layers(file) == 0);
  }
}

TEST_CASE("where no scaler is found, what there is instead is told") {
  const std::string corpus = std::string(TARE_TEST_DATA) + "/corpus/";
  const auto note = [&](const char* target) {
    return find(open_checkpoint(corpus + target, {}), "no-scaler")->message;
  };
  CHECK(
      note("torch/disabled/off.pt") ==
      "no loss-scaler state that tare knows; off.pt: 1 tensor (float32); under epoch, model, scaler; scaler is empty");
  CHECK_THAT(note("megatron/torch_constant/ckpt/iter_0000002"), Catch::Contains("optimizer.grad_scaler is empty"));
  CHECK_THAT(note("torch/float8-tensors-t2.6/fp8.pt"),
             Catch::Contains("4 tensors (float8_e4m3fn, float8_e5m2, bfloat16, int8)"));
  CHECK_THAT(note("megatron/torch_bf16/ckpt/iter_0000002"), Catch::Contains("87 tensors (bfloat16, float32, uint8)"));
  CHECK_THAT(note("accelerate/disabled/state"), Catch::Contains("scaler.pt: nothing"));
}

TEST_CASE("what is true of many rank files is told once") {
  const Scratch scratch;
  for (int rank = 0; rank < 5; ++rank) {
    scratch.copy("deepspeed/zero1_1rank/ckpt/global_step3/zero_pp_rank_0_mp_rank_00_optim_states.pt",
                 "step/zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt");
  }
  const Checkpoint checkpoint = open_checkpoint(scratch.path("step"), {});
  const auto is_it = [](const Finding& finding) { return finding.code == "opaque-class"; };
  CHECK(std::count_if(checkpoint.findings.begin(), checkpoint.findings.end(), is_it) == 1);
  CHECK(find(checkpoint, "opaque-class")->message.ends_with("(and so in 4 more rank files)"));
}
