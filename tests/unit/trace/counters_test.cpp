// Which number in a line, or a row, is the step's.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

using StepNumbers = std::vector<std::optional<std::int64_t>>;

StepNumbers numbers_in(const Trace& trace) {
  StepNumbers numbers;
  for (const TraceStep& step : trace.steps) numbers.push_back(step.step);
  return numbers;
}

bool has_warning(const Trace& trace, const std::string& code) {
  for (const TraceWarning& warning : trace.warnings) {
    if (warning.code == code) return true;
  }
  return false;
}

constexpr std::optional<std::int64_t> none;

}  // namespace

TEST_CASE("what is called after steps and counts none does not hide the number of the step") {
  for (const std::string other :
       {"tokens/step 524288", "ms/step: 12", "step 412ms", "accum_step: 8", "lr_step: 30", "last_skipped_step 3",
        "time_per_step: 411", "avg_loss_step : 8.78", "accumulation step 4", "step: 0.412", "best_epoch: 7"}) {
    INFO(other);
    const Trace trace = trace_of_log("iter 1: loss 3.2, " + other + ", loss_scale 65536.0\niter 2: loss 3.1, " + other +
                                     ", loss_scale 32768.0\n");
    CHECK(numbers_in(trace) == StepNumbers{1, 2});
  }
}

TEST_CASE("steps by their longer names count as before") {
  for (const std::string name : {"step", "Step", "global_step", "global step", "Training step", "train/step:", "(step",
                                 "train_step=", "optimizer step", "INFO iteration", "Iter"}) {
    INFO(name);
    CHECK(numbers_in(trace_of_log(name + " 7 loss 3.2 loss_scale 65536.0\n")) == StepNumbers{7});
  }
}

TEST_CASE("a collapse under a number that always is the same is told, and that the number is none") {
  std::string text;
  for (int scale = 65536; scale >= 256; scale /= 2) {
    text += "step 64 loss 3.2 loss_scale " + std::to_string(scale) + ".0\n";
  }
  const Trace trace = trace_of_log(text);
  CHECK(numbers_in(trace) == StepNumbers{64, none, none});
  CHECK(steps_of(trace).back().after == 256.0);
  CHECK(has_warning(trace, "repeated-number"));
  CHECK_FALSE(
      has_warning(trace_of_log("step 1 loss_scale 65536.0\nstep 1 loss_scale 65536.0\nstep 1 loss_scale 32768.0\n"
                               "step 2 loss_scale 32768.0\n"),
                  "repeated-number"));
}

TEST_CASE("rows that name an epoch and a batch are all read") {
  for (const char* key : {"batch", "batch_idx", "it", "i"}) {
    INFO(key);
    std::string rows, lines = "epoch," + std::string(key) + ",loss,loss_scale\n";
    int scale = 65536;
    for (int epoch = 1; epoch <= 2; ++epoch) {
      for (int batch = 1; batch <= 3; ++batch, scale /= 2) {
        const std::string numbers[] = {std::to_string(epoch), std::to_string(batch), std::to_string(scale)};
        rows += "{\"epoch\": " + numbers[0] + ", \"" + key + "\": " + numbers[1] +
                ", \"loss\": 3.2, \"loss_scale\": " + numbers[2] + ".0}\n";
        lines += numbers[0] + "," + numbers[1] + ",3.2," + numbers[2] + ".0\n";
      }
    }
    for (const Trace& trace : {trace_of({{"m.jsonl", rows}}), trace_of({{"m.csv", lines}})}) {
      CHECK(numbers_in(trace) == StepNumbers{1, 2, 3, none, none, none});
      CHECK(steps_of(trace).back().after == 2048.0);
      CHECK(trace.unit == "step");
    }
  }
}

TEST_CASE("rows of an epoch that name no batch are told without a number once their scales show that they are many") {
  std::string rows = "epoch,loss,loss_scale\n";
  for (int scale = 65536; scale >= 256; scale /= 2) rows += "1,3," + std::to_string(scale) + "\n";
  const Trace trace = trace_of({{"m.csv", rows}});
  CHECK(numbers_in(trace) == StepNumbers{1, none, none});
  CHECK(has_warning(trace, "repeated-number"));
}

TEST_CASE("a batch beside an epoch counts within it, where the line tells of how many") {
  CHECK(numbers_in(trace_of_log("Epoch 1/2, Batch 1/2, Loss: 3.2, Scale: 65536.0\n"
                                "Epoch 1/2, Batch 2/2, Loss: 3.2, Scale: 32768.0\n"
                                "Epoch 2/2, Batch 1/2, Loss: 3.2, Scale: 16384.0\n")) == StepNumbers{1, 2, 3});
  CHECK(numbers_in(trace_of_log("Epoch: [0][0/2]\tTime 0.1 (0.1)\tLoss 3.2 (3.3)\tLossScale 65536.0\n"
                                "Epoch: [0][1/2]\tTime 0.1 (0.1)\tLoss 3.2 (3.3)\tLossScale 32768.0\n"
                                "Epoch: [1][0/2]\tTime 0.1 (0.1)\tLoss 3.2 (3.3)\tLossScale 16384.0\n")) ==
        StepNumbers{0, 1, 2});
}

TEST_CASE("a configuration that names epochs and a scale is no step of the run") {
  const std::string configuration = "epoch=3, loss_scale=128.0, batch=64\n";
  const Trace trace = trace_of_log(configuration + "step 1 loss 3.2 scale 65536.0\n");
  CHECK(numbers_in(trace) == StepNumbers{1});
  CHECK(trace_of_log(configuration).steps.empty());
}

TEST_CASE("scales beside samples of an epoch are told without a number") {
  for (const char* name : {"Scale", "loss_scale", "GradScale"}) {
    INFO(name);
    std::string text;
    for (const char* scale : {"65536.0", "32768.0", "16384.0"}) {
      text += "Train Epoch: 1 [64/6400 (1%)]\tLoss: 3.2\t" + std::string(name) + ": " + scale + "\n";
    }
    const Trace trace = trace_of_log(text);
    CHECK(numbers_in(trace) == StepNumbers{none, none, none});
  }
}

TEST_CASE("several scalers, ranks or layers that tell of each step are no falls of one scale") {
  std::string lines, rows = "step,layer,loss_scale\n";
  for (int step = 0; step < 3; ++step) {
    for (const char* scale : {"65536.0", "32768.0", "16384.0", "65536.0"}) {
      lines += "step " + std::to_string(step) + " loss 2.3 loss_scale " + scale + "\n";
      rows += std::to_string(step) + ",1," + scale + "\n";
    }
  }
  for (const Trace& trace : {trace_of_log(lines), trace_of({{"m.csv", rows}})}) {
    CHECK(numbers_in(trace) == StepNumbers{0, 1, 2});
    CHECK_FALSE(has_warning(trace, "repeated-number"));
  }
}

TEST_CASE("steps by names with a prefix count where a line has no other") {
  for (const std::string name :
       {"_step:", "cur_step:", "global-step:", "total_iter:", "n_iter:", "GlobalStep:", "globalstep:", "max step:",
        "num_steps:", "trainer.global_step=", "**step", "Skipped step", "WARNING overflow, skipped step"}) {
    INFO(name);
    CHECK(numbers_in(trace_of_log(name + " 7** loss 3.2 loss_scale 65536.0\n")) == StepNumbers{7});
  }
}

TEST_CASE("steps that begin again in epochs by names with a prefix are no restarts") {
  for (const std::string name :
       {"train_epoch", "current_epoch", "_epoch", "trainer.epoch", "TrainEpoch", "num_epoch"}) {
    INFO(name);
    const Trace trace = trace_of_log(name + ": 0 step: 0 loss_scale: 65536.0\n" + name +
                                     ": 0 step: 1 loss_scale: 65536.0\n" + name + ": 1 step: 0 loss_scale: 65536.0\n");
    CHECK(trace.segments.size() == 1);
  }
}

TEST_CASE("rows whose epoch goes back are those of a run that was resumed") {
  std::string rows;
  for (const char* epoch : {"0", "1", "2", "1", "2"}) {
    for (const char* batch : {"0", "1"}) {
      rows += std::string("{\"epoch\": ") + epoch + ", \"batch\": " + batch + ", \"loss_scale\": 65536.0}\n";
    }
  }
  CHECK(trace_of({{"m.jsonl", rows}}).segments.size() == 2);
}

TEST_CASE("a column that tells how large batches are leaves its rows to their epochs") {
  const Trace trace = trace_of({{"m.csv", "epoch,batch,loss,loss_scale\n0,64,2,65536\n1,64,2,32768\n2,64,2,16384\n"}});
  CHECK(numbers_in(trace) == StepNumbers{0, 1, 2});
  CHECK(trace.unit == "epoch");
  CHECK(numbers_in(trace_of({{"m.csv", "epoch,batch,loss_scale\n0,64,65536\n"}})) == StepNumbers{64});
}

TEST_CASE("a collapse in lines without a step is told beside lines of epochs that name another scale") {
  std::string text;
  for (const char* scale : {"65536.0", "32768.0", "16384.0", "8192.0"}) {
    text += std::string("Gradient check done, loss scale: ") + scale + "\nEpoch 1 Loss: 2.3 kl_loss_scale: 4096.0\n";
  }
  CHECK(steps_of(trace_of_log(text)).back().after == 8192.0);
}

TEST_CASE("what else is called a scale beside an epoch is no loss scale") {
  for (const std::string name : {"lr_scaler", "kl_loss_scale", "grl_grad_scale"}) {
    INFO(name);
    std::string text;
    for (const char* scale : {"1.0", "0.5", "0.25", "0.125"})
      text += "Epoch 1/30 Loss: 2.31 " + name + ": " + scale + "\n";
    CHECK(trace_of_log(text).steps.empty());
  }
}

TEST_CASE("what a row tells of an epoch behind its batches is no restart") {
  std::string rows;
  for (const std::string epoch : {"0", "1"}) {
    for (const char* batch : {"0", "1", "2"}) {
      rows += "{\"epoch\": " + epoch + ", \"batch\": " + batch + ", \"loss_scale\": 65536.0}\n";
    }
    rows += "{\"epoch\": " + epoch + ", \"train_loss\": 2.1, \"loss_scale\": 65536.0}\n";
  }
  CHECK(trace_of({{"m.jsonl", rows}}).segments.size() == 1);
}
