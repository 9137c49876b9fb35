// Names that may be of anything, numbers in other notations, and shapes of lines of frameworks that are seldom met.
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

using ScalesTold = std::vector<std::optional<double>>;

ScalesTold scales_told(const Trace& trace) {
  ScalesTold scales;
  for (const TraceStep& step : trace.steps) scales.push_back(step.after ? step.after : step.smoothed);
  return scales;
}

ScalesTold scales_in_csv(const std::string& name, const std::vector<std::string>& scales) {
  std::string text = "step,loss," + name + "\n";
  for (std::size_t i = 0; i < scales.size(); ++i) text += std::to_string(i) + ",3.2," + scales[i] + "\n";
  return scales_told(trace_of({{"m.csv", text}}));
}

ScalesTold scale_in(const std::string& words) {
  return scales_told(trace_of_log("step 1 loss 3.2 " + words + "\n"));
}

}  // namespace

TEST_CASE("a model's own scale that falls is no loss scale that collapses") {
  CHECK(scales_in_csv("train/scale", {"14.2857", "13.857", "0.5"}).empty());
  CHECK(scales_in_csv("train_scale", {"100", "64", "32"}).empty());
}

TEST_CASE("a column that is called scale alone, or train_scale, is a loss scale if it begins as one") {
  CHECK(scales_in_csv("scale", {"65536.0", "32768.0", "0.0"}) == ScalesTold{65536, 32768, 0});
  CHECK(scales_in_csv("train_scale", {"65536.0", "32768.0", "512.0"}) == ScalesTold{65536, 32768, 512});
}

TEST_CASE("a column that is called scale is a loss scale, too, if it goes by factors of two") {
  CHECK(scales_in_csv("scale", {"512.0", "256.0", "128.0"}) == ScalesTold{512, 256, 128});
  CHECK(scales_in_csv("scale", {"65537.0", "32768.5", "16384.25"}) == ScalesTold{65537, 32768.5, 16384.25});
  CHECK(scales_in_csv("scale", {"512.0", "512.0", "65536.0"}) == ScalesTold{512, 512, 65536});
  CHECK(scales_in_csv("scale", {"14.28", "14.28"}).empty());
}

TEST_CASE("a collapse in a column that was rounded for print, or told every tenth step, is not hidden by its name") {
  CHECK(scales_in_csv("scale", {"6.554e+04", "3.277e+04", "1.638e+04", "0.0004883"}).size() == 4);
  CHECK(scales_in_csv("train/scale", {"1.67772e+07", "8.38861e+06"}).size() == 2);
  CHECK(scales_in_csv("scale", {"10000", "2500", "312.5", "0.0001"}).size() == 4);
  CHECK(scales_in_csv("scale", {"512.00", "0.01", "0.00"}).size() == 3);
  CHECK(scales_in_csv("scale", {"14.286", "14.272", "14.258"}).empty());
  CHECK(scales_in_csv("scale", {"0.18215", "0.18215"}).empty());
  CHECK(scales_in_csv("scale", {"0.01", "0.01", "0.009"}).empty());
}

TEST_CASE("a column that could be a loss scale and is left out is named, and its losses are kept") {
  const Trace trace = trace_of({{"m.csv", "step,loss,scale\n1,3.2,14.28\n2,3.1,13.86\n"}});
  CHECK(trace.steps.empty());
  CHECK(trace.without_scale.size() == 2);
  REQUIRE_FALSE(trace.warnings.empty());
  CHECK(trace.warnings[0].text ==
        "\"scale\" could be a loss scale, but does not go as one: ask for it by its name (--tag scale)");
}

TEST_CASE("a column of logarithms tells means of scales") {
  CHECK(scales_in_csv("lg_loss_scale", {"15", "14", "13"}) == ScalesTold{32768, 16384, 8192});
  CHECK(steps_of(trace_of({{"m.csv", "step,lg_loss_scale,loss\n1,15,3\n"}})).front().smoothed == 32768.0);
}

TEST_CASE("a scale that is printed as a power, or a logarithm, of two is no scale of 2 or 16") {
  CHECK(scale_in("loss scale: 2^16") == ScalesTold{65536});
  CHECK(scale_in("loss_scale=2**-3") == ScalesTold{0.125});
  for (const std::string name : {"log2_loss_scale", "log2_grad_scale", "log2 loss_scale", "log2-loss_scale"}) {
    INFO(name);
    CHECK(scale_in(name + ": 16") == ScalesTold{65536});
  }
  CHECK(scale_in("loss_scale: 10^4").empty());
}

TEST_CASE("numbers are read as NumPy, JAX and torch print them") {
  for (const std::string number :
       {"np.float32(65536.0)", "np.float64(65536.0)", "Array(65536.0, dtype=float32)",
        "tensor(65536., device='cuda:0')", "tensor([65536.0], device='cuda:0')", "np.int64(65536)", "array([65536.])",
        "tensor([[65536.]])", "tf.Tensor(65536.0, shape=(), dtype=float32)"}) {
    INFO(number);
    CHECK(scale_in("'loss_scale': " + number) == ScalesTold{65536});
  }
  CHECK(scale_in("'loss_scale': tensor([1.0, 65536.0])").empty());
}

TEST_CASE("monitors of PanGu-alpha and CodeGeeX tell what each step left") {
  const auto steps = steps_of(trace_of_log(
      "time: Sun Apr 13 01:46:47 2021 local_rank: 0, epoch: 0, step: 3, output is 8.7, overflow is True, scale is "
      "32768.0\n"
      "time: Sun Apr 13 01:46:47 2021 local_rank: 0, epoch: 1, step: 4, loss is 8.6, overflow is False, scale is "
      "32768.0, lr is 0.0001\n"));
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].step == 3);
  CHECK(steps[0].overflow == true);
  CHECK(steps[0].after == 32768.0);
  CHECK(steps[1].step == 4);
  CHECK(steps[1].overflow == false);
}

TEST_CASE("AudioCraft's lines tell means, but for powers of two") {
  const auto line = [](const std::string& place, const std::string& scale) {
    return "[10-07 02:58:22][flashy.solver][INFO] - Train | " + place +
           " | 1.23 it/sec | lr 1.00E-04 | grad_norm 4.134E-01 | grad_scale " + scale + " | ce 4.123 | ppl 60.123\n";
  };
  const auto steps =
      steps_of(trace_of_log(line("Epoch 1 | 200/2000", "60000.500") + line("Epoch 2 | 10/2000", "512.0")));
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].step == 200);
  CHECK(steps[0].smoothed == 60000.5);
  CHECK(steps[1].step == 2010);
  CHECK(steps[1].after == 512.0);
  CHECK(scales_told(trace_of_log("Train Summary | Epoch 1 | grad_norm=3.1 | grad_scale=65536.000 | ce=6.0\n"
                                 "Train Summary | Epoch 2 | grad_norm=3.1 | grad_scale=40000.500 | ce=6.0\n"
                                 "Train Summary | Epoch 3 | grad_norm=3.1 | grad_scale=32768.000 | ce=6.0\n")) ==
        ScalesTold{65536, 40000.5, 32768});
}

TEST_CASE("EVA-CLIP's five digits are a power of two, and the 0 of a run without a scaler is no collapse") {
  const auto line = [](const std::string& step, const std::string& scale) {
    return "2023-04-01,10:11:10 | INFO | Global Steps: " + step +
           " Train Epoch: 0 [    40960/400000000 (0%)] Loss: 8.18 (8.99) Grad Norm: 1.2 (1.2) Loss Scaler: " + scale +
           " (6.554e+04) LR: 0.00001 Logit Scale: 14.286\n";
  };
  const Trace trace = trace_of_log(line("10", "1.3107e+05") + line("20", "65536."));
  CHECK(scales_told(trace) == ScalesTold{131072, 65536});
  CHECK(steps_of(trace).front().step == 10);
  CHECK(trace_of_log(line("10", "0.0000") + line("20", "0.0000")).steps.empty());
}

TEST_CASE("CLU's writer tells Flax's scale") {
  const std::string head = "I0413 10:22:10.123456 140012345678656 logging_writer.py:48] ";
  const Trace trace = trace_of_log(head + "[10] steps_per_second=1.2, train_loss=8.1, train_scale=65536.0\n" + head +
                                   "[20] steps_per_second=1.2, train_loss=8.1, train_scale=32768.0\n");
  CHECK(scales_told(trace) == ScalesTold{65536, 32768});
  CHECK(steps_of(trace).back().step == 20);
}
