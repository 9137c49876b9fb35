// Lines as trainers print them: losses where no scale is told, words about a loss that is lost, a scale by a bare name.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

struct Aside {
  std::optional<std::int64_t> step;
  float loss = 0;
};

std::vector<Aside> asides_of(const std::string& text) {
  std::vector<Aside> told;
  for (const TraceStep& step : trace_of_log(text).without_scale) told.push_back({step.step, step.loss.value_or(-1)});
  return told;
}

Aside only_aside(const std::string& line) {
  const auto told = asides_of(line + "\n");
  INFO(line);
  REQUIRE(told.size() == 1);
  return told.front();
}

}  // namespace

TEST_CASE("a line of mmcv or mmengine without a scale tells its step") {
  const auto of_iterations = only_aside(
      "2020-07-24 21:42:17,289 - mmseg - INFO - Iter [3050/40000]\tlr: 9.3e-03, eta: 11:55:52, time: 1.220, "
      "data_time: 0.010, memory: 6840, decode.loss_seg: 2.6018, aux.loss_seg: 1.0599, loss: 3.6619");
  CHECK(of_iterations.step == 3050);
  CHECK(of_iterations.loss == 3.6619F);
  const auto of_epochs = only_aside(
      "2021-05-01 10:00:00,000 - mmdet - INFO - Epoch [2][50/100]\tlr: 1e-03, eta: 1:00:00, time: 0.3, data_time: "
      "0.01, memory: 100, loss_cls: 0.5, loss: 1.5");
  CHECK(of_epochs.step == 150);
  const auto of_mmengine = only_aside(
      "2023/05/01 10:00:00 - mmengine - INFO - Epoch(train)  [3][ 50/100]  lr: 1e-03  eta: 1:00:00  time: 0.3  "
      "data_time: 0.01  memory: 100  loss: 1.5");
  CHECK(of_mmengine.step == 250);
  const auto of_its_iterations = only_aside(
      "2023/05/01 10:00:00 - mmengine - INFO - Iter(train) [ 4000/80000]  lr: 1e-03  eta: 1:00:00  time: 0.3  "
      "data_time: 0.01  memory: 100  loss: 1.5");
  CHECK(of_its_iterations.step == 4000);
}

TEST_CASE("how much of a bar is done is no step's number") {
  const std::string bars =
      "steps:   1%|          | 10/1600 [00:10<25:00,  1.10it/s, avr_loss=0.123]\n"
      "steps:   1%|          | 11/1600 [00:11<25:00,  1.10it/s, avr_loss=nan]\n";
  const auto told = asides_of(bars);
  REQUIRE(told.size() == 2);
  CHECK(told[0].step == 10);
  CHECK(told[1].step == 11);
  CHECK(std::isnan(told[1].loss));
}

TEST_CASE("lines of PyTorch's examples, of open_clip and of torchtune tell their losses") {
  CHECK(only_aside("Train Epoch: 1 [640/60000 (1%)]\tLoss: nan").loss != 0);
  CHECK(
      only_aside("2023-04-13,16:27:16 | INFO | Train Epoch: 0 [  2048/12799999 (0%)] Data (t): 8.237 Batch (t): 12.1, "
                 "168.7/s, 168.7/s/gpu LR: 0.000000 Logit Scale: 14.286 Contrastive_loss: 7.5 (7.6) Loss: 7.6240 (7.6)")
          .loss == 7.624F);
  const auto torchtune = only_aside("1|11|Loss: 1.25: 1%|▏         | 11/1000 [00:11<15:00,  1.10it/s]");
  CHECK(torchtune.step == 11);
  CHECK(torchtune.loss == 1.25F);
}

TEST_CASE(
    "a bare scale beside a step is a loss scale's where it begins with a great power of two, and nothing else's") {
  const Trace scaled = trace_of_log(
      "scale: 65536.0\nstep 104 loss 1.5 scale 65536.0\n[step   105] loss=nan scale=32768\n[step   106] loss=1.5 "
      "scale=128\n");
  REQUIRE(scaled.steps.size() == 3);
  CHECK((*scaled.steps.begin()).step == 104);
  CHECK((*scaled.steps.begin()).after == 65536.0);
  for (const char* line : {"step 5 loss 1.5 scale 4", "step 5 loss 1.5 scale 300", "step 5 loss 1.5 logit scale 512",
                           "step 5 loss 1.5 scale 512x512", "step 5 loss 1.5 lr_scale 512"}) {
    INFO(line);
    const Trace trace = trace_of_log(std::string(line) + "\n");
    CHECK(trace.steps.empty());
    CHECK(trace.without_scale.size() == 1);
  }
  CHECK(trace_of_log("step 5 loss 1.5 scale 512\nstep 6 loss 1.5 scale 608\n").steps.empty());
  CHECK(trace_of_log("step 5 scale 1024\nstep 6 scale 1216\nstep 7 scale 0.0\nstep 8 scale nan\n").steps.size() == 3);
  const Trace surer = trace_of_log("step 1 loss_scale 1024\nstep 2 scale 512\nstep 3 loss_scale 1024\n");
  CHECK(surer.steps.size() == 2);
}

TEST_CASE("a bar shows a bare scale as a line does") {
  const Trace trace = trace_of_log(
      "Epoch 1:  10%|█         | 100/1000 [00:10<01:30, 10.00it/s, Loss=0.5, Dice=0.5, Scale=65536]\n"
      "Epoch 1:  20%|██        | 200/1000 [00:20<01:20, 10.00it/s, Loss=0.25, Dice=0.5, Scale=32768]\n");
  REQUIRE(trace.steps.size() == 2);
  CHECK((*std::next(trace.steps.begin())).after == 32768.0);
  CHECK((*std::next(trace.steps.begin())).loss == 0.25F);
  CHECK(only_aside("Epoch 1:  10%|█    | 100/1000 [00:10<01:30, 10.00it/s, Loss=0.5, guidance_scale=7.5]").loss ==
        0.5F);
}

TEST_CASE("warnings of an infinite gradient that name the scale are overflows that ran with it") {
  const Trace trace = trace_of_log(
      "Found infinite gradient. This may be caused by the gradient scaler. The current scale is 65536.0. This warning "
      "can be "
      "ignored.\n[WARN] NaN/Inf detected in gradients, skipping step. Current scale: 32768.0\n"
      "The current scale is 512.0\n");
  REQUIRE(trace.steps.size() == 2);
  CHECK((*trace.steps.begin()).scale == 65536.0);
  CHECK((*trace.steps.begin()).overflow == true);
  CHECK((*std::next(trace.steps.begin())).scale == 32768.0);
}

TEST_CASE("ESPnet's mean of the scale goes by the name of its own trainer, and that of a run without a scaler is 1") {
  const Trace trace = trace_of_log(
      "[node] 2023-11-02 03:04:05,006 (trainer:756) INFO: 1epoch:train:1-1020batch: iter_time=1.2e-04, "
      "forward_time=0.171, loss_ctc=401.5, loss=310.2, backward_time=0.201, grad_norm=201.114, clip=100.000, "
      "loss_scale=1.049e+06, optim_step_time=0.094, optim0_lr0=2.5e-06, train_time=1.1\n");
  REQUIRE(trace.steps.size() == 1);
  CHECK((*trace.steps.begin()).smoothed == 1049000.0);
  CHECK((*trace.steps.begin()).step == 1020);
  CHECK((*trace.steps.begin()).loss == 310.2F);
  CHECK(only_aside("[PC] 2020-11-11 16:36:33,446 (trainer:486) INFO: 5epoch:train:3376-3750batch: iter_time=0.001, "
                   "forward_time=0.005, loss=1.733, backward_time=0.005, lr_0=0.100, train_time=0.014")
            .loss == 1.733F);
}

TEST_CASE("what trainers say as they end a run of a lost loss is told") {
  for (const char* line : {
           "FloatingPointError: Loss became infinite or NaN at iteration=57!",
           "Loss is nan, stopping training",
           "Loss is -inf, stopping training",
           "AssertionError: loss become infinite or NaN!",
           "ValueError: The loss returned in `training_step` is nan.",
           "Monitored metric val_loss = nan is not finite. Previous best value was 1.200. Signaling Trainer to stop.",
           "Batch 12: Invalid loss, terminating training",
           "ERROR:tensorflow:Model diverged with loss = NaN.",
           "NanLossDuringTrainingError: NaN loss during training.",
           "RuntimeError: Train loss contains a NaN.",
           "ValueError: nan loss encountered",
           "ValueError: NaN loss encountered during training.",
           "Rank 3, node n1, device 3, iteration 57: Unexpected result nan (message='found NaN in local forward loss "
           "calculation')",
       }) {
    INFO(line);
    const Trace trace = trace_of_log("step 56 loss 1.5\n" + std::string(line) + "\n");
    const auto said = std::ranges::find(trace.warnings, "loss-not-finite", &TraceWarning::code);
    REQUIRE(said != trace.warnings.end());
    CHECK(said->text.find(std::string(":2: ") + line) != std::string::npos);
  }
  for (const char* line : {"Loss is 1.5, going on", "Monitored metric val_loss did not improve. Best value 1.2"}) {
    INFO(line);
    const Trace trace = trace_of_log("step 56 loss 1.5\n" + std::string(line) + "\n");
    CHECK(std::ranges::find(trace.warnings, "loss-not-finite", &TraceWarning::code) == trace.warnings.end());
  }
}

TEST_CASE("losses that are printed without a step are the run's where the same words tell them again and again") {
  const auto losses_of = [](const std::string& text) {
    std::vector<float> losses;
    for (const Aside& told : asides_of(text)) losses.push_back(told.loss);
    return losses;
  };
  using Losses = std::vector<float>;
  CHECK(losses_of("Epoch 1, Batch 10, Loss: 2.5\nEpoch 1, Batch 20, Loss: 2.25\nEpoch 1, Batch 30, Loss: 2\n") ==
        Losses{2.5, 2.25, 2});
  CHECK(losses_of("[1,  2000] loss: 2.5\n[1,  4000] loss: 2.25\n[2,  2000] loss: 2\n") == Losses{2.5, 2.25, 2});
  CHECK(losses_of("Epoch: [0][ 10/5005]\tTime  0.3 ( 1.2)\tLoss 7.0e+00 (7.1e+00)\tAcc@1 0.0\n"
                  "Epoch: [0][ 20/5005]\tTime  1.2e-05 ( 1.2)\tLoss 6.5e+00 (7.0e+00)\tAcc@1 0.0\n"
                  "Epoch: [0][ 30/5005]\tTime  0.3 ( 1.2)\tLoss 6.0e+00 (6.9e+00)\tAcc@1 0.0\n") == Losses{7, 6.5, 6});
  // Of several losses in a line one counts, and that is the one that is lost.
  CHECK(losses_of("loss: 0.5 gan loss: 1.0\nloss: 0.5 gan loss: 2.0\nloss: 0.5 gan loss: 3.0\n") ==
        Losses{0.5, 0.5, 0.5});
  const auto lost = losses_of("loss: 0.5 gan loss: 1\nloss: 0.5 gan loss: nan kl loss: 2\nloss: nan gan loss: nan\n");
  REQUIRE(lost.size() == 3);
  CHECK(lost.front() == 0.5);
  CHECK(std::isnan(lost[1]));
  CHECK(std::isnan(lost[2]));
  CHECK(losses_of("a loss of loss: 0.5\na loss of loss: 0.25\na loss of loss: 1\n") == Losses{0.5, 0.25, 1});
  // What an accuracy becomes along with the loss is no other word.
  CHECK(losses_of("Epoch 1 acc 0.5 train loss 2.5\nEpoch 2 acc nan train loss 2\nEpoch 3 acc nan train loss 1.5\n") ==
        Losses{2.5, 2, 1.5});
  CHECK(losses_of("Epoch 1, Loss: 2.5\nEpoch 2, Loss: 2.25\n").empty());
  CHECK(losses_of("best loss: inf\nbest loss: inf\nbest loss: inf\n").empty());
  CHECK(losses_of("Test: loss 2.5\nTest: loss 2.25\nTest: loss 2\n").empty());
  // Of two kinds the one that is told more often, and none where lines have a step.
  CHECK(losses_of(
            "batch loss 2.5\nbatch loss 2\nepoch loss 9\nbatch loss 1.5\nbatch loss 1\nepoch loss 8\nepoch loss 7\n") ==
        Losses{2.5, 2, 1.5, 1});
  CHECK(losses_of("batch loss 2.5\nbatch loss 2\nbatch loss 1.5\nstep 10 loss 3\n") == Losses{3});
}
