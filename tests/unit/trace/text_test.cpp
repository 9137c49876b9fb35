// Lines of logs: what each framework's tell, and what copies, breaks and prefixes do not change.
#include <cmath>

#include "lib/trace/text/match.hpp"
#include "lib/trace/text/scan.hpp"
#include "lib/trace/text/shapes.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

bool warns(const Trace& trace, std::string_view code) {
  for (const TraceWarning& warning : trace.warnings) {
    if (warning.code == code) return true;
  }
  return false;
}

std::string iteration(int number, const std::string& scale, int skipped = 0) {
  return " iteration     " + std::to_string(number) +
         "/    2000 | consumed samples:  640 | elapsed time per iteration (ms): 12.5 | " +
         "learning rate: 6.0E-05 | lm loss: 1.5E+00 | loss scale: " + scale +
         " | grad norm: 1.250 | number of skipped iterations: " + std::to_string(skipped) +
         " | number of nan iterations:   0 |\n";
}

}  // namespace

TEST_CASE("every needle of a line shape holds a trigger, without which no line is looked at") {
  for (const LineShape* shape : line_shapes()) {
    INFO(shape->kind << ": " << shape->needle);
    CHECK(find_trigger(shape->needle, 0) < shape->needle.size());
    const auto is_in = [&](std::string_view word) { return shape->needle.find(word) != std::string_view::npos; };
    CHECK((is_of_losses(shape->meaning) || std::ranges::any_of(scale_triggers, is_in)));
  }
}

TEST_CASE("a trigger is found wherever it stands, and nowhere else") {
  for (std::size_t at = 0; at < 200; ++at) {
    for (const std::string_view word : triggers) {
      const std::string text = std::string(at, 'c') + std::string(word) + std::string(200 - at, 'k');
      REQUIRE(find_trigger(text, 0) == at);
      REQUIRE(find_trigger(text, at + 1) == text.size());
    }
  }
}

TEST_CASE("DeepSpeed's overflow tells the scale before and after, and hysteresis leaves it") {
  const auto steps = steps_of(trace_of_log(
      "[2023-04-28 06:51:29,903] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
      "Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1\n"
      "[2023-04-28 06:51:30,648] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. "
      "Attempted loss scale: 65536, reducing to 32768\n"));
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].scale == 65536.0);
  CHECK(steps[0].after == 65536.0);
  CHECK(steps[1].scale == 65536.0);
  CHECK(steps[1].after == 32768.0);
  CHECK(steps[1].overflow == true);
  CHECK_FALSE(steps[1].step.has_value());
}

TEST_CASE("DeepSpeed's running total of skipped steps becomes a count since the report before") {
  const auto steps =
      steps_of(trace_of_log("[INFO] [Rank 0] step=500, skipped=6, lr=[6e-05], mom=[[0.9, 0.95]]\n"
                            "[INFO] [Rank 0] step=510, skipped=8, lr=[6e-05], mom=[[0.9, 0.95]]\n"
                            "[INFO] [Rank 0] step=520, skipped=8, lr=[6e-05], mom=[[0.9, 0.95]]\n"));
  REQUIRE(steps.size() == 3);
  CHECK_FALSE(steps[0].skipped.has_value());  // since when is not told
  CHECK(steps[1].skipped == 2);
  CHECK(steps[1].span == 10);
  CHECK(steps[2].skipped == 0);
  CHECK(steps[2].overflow == false);
}

TEST_CASE("Megatron's line tells the scale after, and what was skipped since the line before") {
  const auto steps =
      steps_of(trace_of_log(iteration(10, "8388608.0", 10) + iteration(20, "32768.0", 8) + iteration(30, "32768.0")));
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].step == 10);
  CHECK(steps[0].span == 10);
  CHECK(steps[0].overflow == true);
  CHECK_FALSE(steps[1].overflow.has_value());
  CHECK(steps[1].skipped == 8);
  CHECK(steps[2].overflow == false);
  CHECK(steps[2].after == 32768.0);
  CHECK(steps[2].loss == 1.5F);
  CHECK(steps[2].grad_norm == 1.25F);
}

TEST_CASE("a line that is cut off tells what is whole of it, and never half a number") {
  const std::string whole = iteration(1, "65536.0") + iteration(2, "65536.0");
  const std::size_t second = whole.find('\n') + 1;
  const std::size_t scale = whole.find("65536", second);
  for (std::size_t end = second; end < scale + 8; ++end) {
    const auto steps = steps_of(trace_of_log(whole.substr(0, end)));
    INFO(whole.substr(second, end - second));
    REQUIRE(steps.size() == 1);
  }
  CHECK(steps_of(trace_of_log(whole)).size() == 2);
}

TEST_CASE("an overflow's line and its iteration's line are one step") {
  const auto trace =
      trace_of_log(iteration(17049, "1048576.0") +
                   "[stage_1_and_2.py:1644:step] [deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss "
                   "scale: 1048576.0, reducing to 524288.0\n" +
                   iteration(17050, "524288.0"));
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].step == 17050);
  CHECK(steps[1].scale == 1048576.0);
  CHECK(steps[1].after == 524288.0);
  CHECK(steps[1].overflow == true);
  CHECK(steps[1].skipped == 1);
}

TEST_CASE("a resumed run begins a segment, and what it overwrites is not kept") {
  std::string text;
  for (int i = 1; i <= 37; ++i) text += iteration(i, "65536.0");
  for (int i = 31; i <= 60; ++i) text += iteration(i, "32768.0");
  const Trace trace = trace_of_log(text);
  REQUIRE(trace.segments.size() == 2);
  CHECK(trace.segments[0].first == 1);
  CHECK(trace.segments[0].last == 37);
  CHECK(trace.segments[0].kept == 30);
  CHECK(trace.segments[1].first == 31);
  CHECK(trace.segments[1].kept == 60);
}

TEST_CASE("four ranks that print one event each are four copies of it") {
  std::string text;
  for (const char* scale : {"32768.0", "16384.0", "8192.0", "8192.0", "4096.0"}) {
    for (int rank = 0; rank < 4; ++rank) {
      text += std::string("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to ") + scale;
      if (rank % 2 == 1) text += "\n";
    }
  }
  CHECK(trace_of_log(text).steps.size() == 5);
}

TEST_CASE("one rank that stays at a floor has many steps") {
  std::string text;
  for (const char* scale : {"2.0", "1.0", "1.0", "1.0", "1.0"}) {
    text += std::string("Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to ") + scale + "\n";
  }
  CHECK(trace_of_log(text).steps.size() == 5);
}

TEST_CASE("ranks that a collector names are told apart, and their copies dropped") {
  std::string text;
  for (int i = 1; i <= 5; ++i) {
    for (const char* rank : {"[default6]:", "[default7]:"}) text += rank + iteration(i, "65536.0");
  }
  CHECK(trace_of_log(text).steps.size() == 5);
  CHECK(trace_of_log(text).segments.size() == 1);
  const Trace other = trace_of_log("[rank0]:" + iteration(1, "65536.0") + "[rank1]:" + iteration(1, "32768.0"));
  CHECK(warns(other, "ranks-disagree"));
}

TEST_CASE("prefixes of collectors") {
  CHECK(teller_of("[default7]: text") != 0);
  CHECK(teller_of("[default7]: text") != teller_of("[default6]: text"));
  CHECK(teller_of("[1,3]<stdout>: text") != 0);
  CHECK(teller_of("7: text") != 0);
  CHECK(teller_of("node3: text") != 0);
  CHECK(teller_of("(RayTrainWorker pid=17) text") != 0);
  CHECK(teller_of("[2023-06-07 22:16:00,018] [INFO] text") == 0);
  CHECK(teller_of("iteration 7/ 10 | text") == 0);
}

TEST_CASE("colours, progress bars and JSON of a container runtime hide nothing") {
  const std::string event = "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 512.0";
  for (const std::string& text : std::vector<std::string>{
           "\x1b[32mGradient overflow.\x1b[0m  Skipping step, loss scaler 0 reducing loss \x1b[1mscale to "
           "512.0\x1b[0m\n",
           std::string("  5%|#   | 5/100 [00:01<00:19]\r 6%|#   | 6/100 [00:01<00:19]") + event + "\n", event + "\r\n",
           "{\"log\":\"" + event + "\\n\",\"stream\":\"stderr\",\"time\":\"2025-01-01T00:00:00Z\"}\n",
           "2025-01-01T00:00:00.1Z " + event + "\n"}) {
    INFO(text);
    const auto steps = steps_of(trace_of_log(text));
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].after == 512.0);
  }
}

TEST_CASE("a message that the terminal's width has broken is put together again") {
  const auto steps = steps_of(trace_of_log(
      "           INFO     colossalai - colossalai - INFO: Overflow occurs, the loss      dynamic_grad_scaler.py:45\n"
      "                    scale is adjusted to 16384.0\n"
      "           INFO     colossalai - colossalai - INFO: Found overflow. Skip step\n"));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].after == 16384.0);
  CHECK(steps[0].overflow == true);
}

TEST_CASE("fairseq's updates count no skipped steps; a mean of scales is no scale") {
  const auto trace = trace_of_log(
      "| epoch 001:    200 / 1374 loss=14.351, ppl=20899.56, num_updates=190, lr=4.8e-06, gnorm=3.9, loss_scale=0.062, "
      "wall=1\n"
      "| WARNING: overflow detected, setting loss scale to: 0.03125\n"
      "| epoch 001:    300 / 1374 loss=13.137, ppl=9007.95, num_updates=289, lr=9.8e-06, gnorm=2.5, loss_scale=1399, "
      "wall=2\n");
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 3);
  CHECK(trace.unit == "update");
  CHECK_FALSE(steps[0].after.has_value());
  CHECK(steps[1].after == 0.03125);
  CHECK(steps[2].step == 289);
  CHECK(steps[2].span == 99);
  CHECK_FALSE(steps[2].after.has_value());
  CHECK(steps[2].smoothed == 1399.0);
}

TEST_CASE("a scale that becomes nan or infinite is the step's own in every shape, and no mean") {
  for (const std::string scale : {"nan", "inf"}) {
    for (const std::string& line :
         {iteration(30, scale),
          "[2023-01-01 10:00:00 swin_tiny] (main.py 231): INFO Train: [0/300][30/1251]\teta 0:10:00 lr 0.000001\t wd "
          "0.0500\ttime 0.5 (0.5)\tloss 6.9 (6.9)\tgrad_norm 1.5 (1.5)\tloss_scale " +
              scale + " (" + scale + ")\tmem 9000MB\n",
          "| Iter:     30 | loss: 1.5000 | lr: 1.0e-02 | scale: " + scale + " | grad_norm: 1.5 | time: 0.1\n",
          "step 30 loss 1.5 loss_scale " + scale + "\n",
          "| epoch 001: 300 / 1374 loss=13.1, num_updates=30, lr=9.8e-06, gnorm=2.5, loss_scale=" + scale +
              ", wall=2\n"}) {
      const auto steps = steps_of(trace_of_log(line));
      INFO(line);
      REQUIRE(steps.size() == 1);
      REQUIRE(steps[0].after.has_value());
      CHECK_FALSE(std::isfinite(*steps[0].after));
      CHECK_FALSE(steps[0].smoothed.has_value());
    }
  }
}

TEST_CASE("exceptions about a minimum are the overflow that no other line tells") {
  for (const char* text :
       {"Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n",
        "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.\n"}) {
    const auto steps = steps_of(trace_of_log(text));
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].fatal);
    CHECK(steps[0].overflow == true);
    CHECK_FALSE(steps[0].after.has_value());
  }
}

TEST_CASE("every rank dies of one overflow, which is told once") {
  std::string text = "[rank0]: Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.0\n";
  for (int rank = 0; rank < 4; ++rank) {
    text +=
        "    raise Exception(\"Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\")\n"
        "[rank1]: Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n";
  }
  const auto steps = steps_of(trace_of_log(text));
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].fatal);
}

TEST_CASE("lines of other frameworks") {
  struct Example {
    const char* line;
    const char* kind;
    std::optional<std::int64_t> step;
    std::optional<double> scale, after, smoothed;
    std::optional<bool> overflow;
  };
  for (
      const Example& example : std::initializer_list<Example>{
          {"Train: [1/4][10/200]\teta 0:01:00 loss 6.4 (6.5)\tgrad_norm 1.5 (inf)\tloss_scale 16384.0000 "
           "(17873.4545)\tmem 1MB",
           "swin-log",
           210,
           {},
           16384,
           {},
           {}},
          {"Epoch: [2]  [ 10/300]  eta: 0:00:00  loss: 5.9 (5.9)  loss_scale: 8192.0000 (11170.9091)  grad_norm: 1.5 "
           "(inf)",
           "metric-logger",
           610,
           {},
           {},
           8192,
           {}},
          {"INFO [train.py:708] (0/4) Epoch 1, batch 49, global_batch_idx: 50, loss[loss=0.2], tot_loss[loss=0.3, "
           "over 9 frames], batch size: 69, lr: 1.00e-03, grad_scale: 32.0",
           "icefall-log",
           50,
           {},
           32,
           {},
           {}},
          {"{ Epoch:[  2/  3], step:[    2/  250], loss: 5.000, per_step_time: 850ms, lr: 1e-05, overflow cond: True, "
           "loss_scale: 65536.0, global_norm: [1.5]",
           "mindformers-log",
           252,
           {},
           65536,
           {},
           true},
          {"[WARNING] overflow, still update, loss scale adjust to 1024.0", "mindyolo-log", {}, {}, 1024, {}, true},
          {"Found inf or nan, current scale is: 32768.0, decrease to: 32768.0*0.5",
           "paddle-log",
           {},
           32768,
           16384,
           {},
           true},
          {"Found inf or nan,current scale is: 0.0,decrease to: 0.0*0.5", "paddle-log", {}, 0, 0, {}, true},
          {"global step 120, epoch: 0, loss: 10.5, loss_scaling: 32768.00, incr_count: 5.00, decr_count: 0.00",
           "paddle-log",
           120,
           {},
           32768,
           {},
           {}},
          {"Training: 2022-05-05-Speed 731.07 samples/sec   Loss 43.3935   LearningRate 0.1   Epoch: 0   Global Step: "
           "20   Fp16 Grad Scale: 16384   Required: 9 hours",
           "insightface-log",
           20,
           {},
           16384,
           {},
           {}},
          {"DLL 2020-05-29 11:31:45.763713 - PARAMETER loss_scale : 65536.0 ", "dllogger-log", {}, {}, 65536, {}, true},
          {R"(DLLL {"elapsedtime": "5.2", "type": "LOG", "step": "PARAMETER", "data": {"loss_scale": 32768.0}})",
           "dllogger-log",
           {},
           {},
           32768,
           {},
           true},
          {R"(DLLL {"elapsedtime": "5.2", "type": "LOG", "step": [0, 12], "data": {"loss": 2.5, "loss_scale": 32768.0}})",
           "dllogger-log",
           12,
           {},
           32768,
           {},
           {}},
          {"[h] 2023-01-01 (trainer:706) INFO: 1epoch:train:1-100batch: loss=65.1, grad_norm=63.297, "
           "grad_scale=2.048e+03, train_time=0.6",
           "espnet-log",
           100,
           {},
           {},
           2048,
           {}},
          // How long an epoch is, nothing says: the 100th batch of the second is no step 100.
          {"[h] 2023-01-01 (trainer:706) INFO: 2epoch:train:1-100batch: loss=65.1, grad_norm=63.297, "
           "grad_scale=2.048e+03, train_time=0.6",
           "espnet-log",
           {},
           {},
           {},
           2048,
           {}},
          {"mmengine - INFO - Epoch(train)  [2][ 20/100]  lr: 1e-2  loss: 0.1  loss_scale: 281.6000  grad_norm: nan",
           "mmengine-log",
           120,
           {},
           {},
           281.6,
           {}},
          {"Epoch 0: 1%| | 9/100 [00:01, loss=7.5, reduced_train_loss=7.5, global_step=99.0, loss_scale=65536.0]",
           "nemo-log",
           99,
           65536,
           {},
           {},
           {}},
          {"OVERFLOW! Skipping step. Attempted loss scale: 512, reducing to 256", "apex-log", {}, 512, 256, {}, true},
          {"iteration      400/    3000 | elapsed time per iteration (ms): 12879.0 | learning rate 6.3E-06 | lm loss "
           "6.7E+00 | loss scale 64.0 |",
           "megatron-log",
           400,
           {},
           64,
           {},
           {}},
          {"step 17 loss 2.5 loss_scale 4096", "log", 17, {}, 4096, {}, {}},
      }) {
    INFO(example.line);
    const Trace trace = trace_of_log(std::string(example.line) + "\n");
    const auto steps = steps_of(trace);
    REQUIRE(steps.size() == 1);
    CHECK(trace.sources.at(0).kind == example.kind);
    CHECK(steps[0].step == example.step);
    CHECK(steps[0].scale == example.scale);
    CHECK(steps[0].after == example.after);
    CHECK(steps[0].smoothed == example.smoothed);
    CHECK(steps[0].overflow == example.overflow);
  }
}

TEST_CASE("a number that no double holds is an infinity or zero, of its sign, however its exponent is written") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const auto& [loss, wanted] : {std::pair{"1e400", infinity}, {"-1e400", -infinity}, {"1.5E-400", 0.0F}}) {
    INFO(loss);
    const auto steps = steps_of(trace_of_log("step 5 loss: " + std::string(loss) + " loss_scale: 65536\n"));
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].loss == wanted);
  }
}

TEST_CASE("of a line's several losses the step's own is told beside its scale") {
  const auto steps = steps_of(trace_of_log("step 5 aux_loss: nan loss: 1.9 loss_scale: 65536\n"));
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].loss == 1.9F);
}

TEST_CASE("files of a run are read in their order, whatever their names sort as") {
  std::string first, second;
  for (int i = 1; i <= 5; ++i) first += iteration(i, "65536.0");
  for (int i = 6; i <= 9; ++i) second += iteration(i, "65536.0");
  CHECK(trace_of({{"train-10.log", second}, {"train-9.log", first}}).segments.size() == 1);
  CHECK(trace_of({{"train.log", second}, {"train.log.1", first}}).segments.size() == 1);
  CHECK(trace_of({{"a.log", "2025-01-02 00:00:00\n" + second}, {"b.log", "2025-01-01 00:00:00\n" + first}})
            .segments.size() == 1);
}

TEST_CASE("code and prose in a run's folder quote lines of logs, and tell nothing") {
  CHECK(trace_of({{"train.py", "logger.info('Found overflow. Skip step')\n"}, {"NOTES.md", iteration(1, "65536.0")}})
            .steps.empty());
}

TEST_CASE("weights whose safetensors header quotes a log tell nothing, whatever their name") {
  std::string line = iteration(1, "65536.0");
  line.pop_back();
  const std::string header = R"({"__metadata__":{"log":")" + line + R"("}})";
  const std::string length = {
      static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8), 0, 0, 0, 0, 0, 0};
  CHECK(trace_of({{"model.safetensors", length + header}, {"log.txt", length + header}}).steps.empty());
  CHECK(trace_of({{"log.txt", "log: " + header + "\n"}}).steps.size() == 1);
}

TEST_CASE("what tells nothing says so") {
  const Trace trace = trace_of_log("epoch 1 loss 2.5\n");
  CHECK(trace.steps.empty());
  CHECK(warns(trace, "no-scale"));
}

TEST_CASE("a log that says that weights are updated by what overflowed warns of it, one that drops the step does not") {
  CHECK(warns(trace_of_log("[WARNING] overflow, still update, loss scale adjust to 1024.0\n"), "overflow-applied"));
  const Trace dropped = trace_of_log("[WARNING] overflow, drop step, loss scale adjust to 1024.0\n");
  CHECK_FALSE(warns(dropped, "overflow-applied"));
  REQUIRE(dropped.steps.size() == 1);
  CHECK((*dropped.steps.begin()).overflow == true);
}

TEST_CASE("lines of a log that a collector wrapped in JSON are read as the log's own") {
  const auto wrapped = [](const std::string& before, const std::string& behind) {
    std::string text;
    for (int i = 1; i <= 9; ++i) {
      std::string line = iteration(i, i < 5 ? "65536.0" : "32768.0", i == 5 ? 1 : 0);
      line.pop_back();
      text += before + line + behind + "\n";
    }
    return text;
  };
  const auto told = [](const Trace& trace) {
    std::vector<TraceStep> steps;
    for (const TraceStep& step : trace.steps) steps.push_back(step);
    return steps;
  };
  const auto plain = told(trace_of_log(wrapped("", "")));
  REQUIRE(plain.size() == 9);
  for (const auto& [before, behind] : {
           std::pair{R"({"log":")", R"(\n","stream":"stderr","time":"2024-05-01T10:00:00Z"})"},
           {R"({"stream":"stderr","log":")", R"(\n"})"},
           {R"({"__REALTIME_TIMESTAMP":"17","_PID":"123","MESSAGE":")", R"("})"},
           {R"({"insertId":"x","resource":{"labels":{"a":"\"log\":"}},"textPayload":")", R"(","timestamp":"2024"})"},
           {R"({"_source": {"@timestamp": "2024", "message": ")", R"("}, "_id": 7})"},
           {R"({"labels":{},"line":")", R"(","timestamp":"2024"})"},
           {R"({"TimeGenerated":"2024","LogEntry":")", R"("})"},
           {R"({"preview":false,"result":{"_raw":")", R"("}})"},
       }) {
    INFO(before);
    CHECK(told(trace_of_log(wrapped(before, behind))) == plain);
  }
}

TEST_CASE("an export of a log as one document of JSON is a log, a configuration is none") {
  std::string document = "[\n";
  for (int i = 1; i <= 5; ++i) {
    std::string line = iteration(i, "65536.0");
    line.pop_back();
    document += R"(  {
    "insertId": "x",
    "textPayload": ")" +
                line + R"(",
    "timestamp": "2024-05-01T10:00:00Z"
  },
)";
  }
  CHECK(trace_of({{"export.json", document + "]\n"}}).steps.size() == 5);
  CHECK(trace_of({{"config.json", "{\n  \"loss scale: 65536\": \"x\"\n}\n"}}).steps.empty());
}

TEST_CASE("numbers in JSON are read from their keys, whatever text stands beside them") {
  const Trace trace = trace_of_log(R"({"message":"step done, loss scale kept","step":1,"loss_scale":1024})"
                                   "\n"
                                   R"({"message":"step done, loss scale kept","step":2,"loss_scale":512})"
                                   "\n");
  REQUIRE(trace.steps.size() == 2);
  CHECK(trace.sources.front().kind == "jsonl");
  CHECK((*trace.steps.begin()).after == 1024);
}

TEST_CASE("where DeepSpeed's reports are lost, the next one counts what was skipped since the last that is there") {
  const auto report = [](int step, int skipped) {
    return "[2023-04-28 06:51:36,906] [INFO] [logging.py:96:log_dist] [Rank 0] step=" + std::to_string(step) +
           ", skipped=" + std::to_string(skipped) + ", lr=[9.65e-06], mom=[(0.9, 0.95)]\n";
  };
  const Trace trace = trace_of_log(report(10, 0) + report(20, 1) + report(60, 4) + report(70, 4));
  std::vector<std::pair<std::uint64_t, std::uint64_t>> told;
  for (const TraceStep& step : trace.steps) told.emplace_back(step.span, step.skipped.value());
  CHECK(told == std::vector<std::pair<std::uint64_t, std::uint64_t>>{{10, 0}, {10, 1}, {40, 3}, {10, 0}});
}

TEST_CASE(
    "a trainer of one's own tells its scale under any of the usual names, and a scale of something else is none") {
  for (const char* name :
       {"loss_scale", "loss scale", "Loss Scale", "loss-scale", "LossScale", "loss_scaler", "grad scale", "Grad Scale",
        "grad_scaler", "GradScaler", "GradScaler scale", "gradient scale", "amp_scale", "fp16_scale", "dynamic_scale",
        "scaler", "scaler_scale", "scaler.get_scale()"}) {
    INFO(name);
    const auto steps = steps_of(trace_of_log("step 7 loss 1.500 " + std::string(name) + ": 65536.0 lr_scale: 0.5\n"));
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].step == 7);
    CHECK(steps[0].after == 65536);
    CHECK(steps[0].loss == 1.5F);
  }
  for (const char* other : {"lr_scale: 8.0", "guidance scale: 8.0", "rope_scale: 8.0", "use_grad_scaler: True"}) {
    CHECK(trace_of_log("step 7 loss 1.500 " + std::string(other) + "\n").steps.empty());
  }
}

TEST_CASE("a bar of tqdm that shows a scale tells the scale of its steps") {
  const auto steps =
      steps_of(trace_of_log("Epoch 1:   2%|2  | 7/100 [00:10<1:45:40,  1.55it/s, loss=0.123, grad_scale=65536.0]\r"
                            "Epoch 1:   2%|2  | 8/100 [00:11<1:45:40,  1.55it/s, loss=nan, grad_scale=32768.0]\n"));
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].step == 8);
  CHECK(steps[1].after == 32768);
  CHECK(steps[0].loss == 0.123F);
}
