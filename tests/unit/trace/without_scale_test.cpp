// Trainers that print losses and gradient norms, and no scale.
#include <cmath>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

// transformers 4.4x, its bar in front; 5 prints numbers as texts.
const std::string printed =
    "  1%|          | 10/1000 [00:03<05:12,  3.17it/s]\r{'loss': 2.3412, 'grad_norm': 1.91, 'learning_rate': 5e-05, "
    "'epoch': 0.01}\n"
    "{'loss': '0', 'grad_norm': 'nan', 'learning_rate': '4.9e-05', 'epoch': '0.02'}\n"
    "{'eval_loss': nan, 'eval_runtime': 2.2, 'epoch': 0.02}\n"
    "{'loss': 0.0, 'grad_norm': tensor(nan, device='cuda:0'), 'learning_rate': 4.8e-05, 'epoch': 0.03}\n";

std::string trainer_state(int steps, const std::string& rows) {
  return "{\n  \"best_metric\": null,\n  \"epoch\": 0.3,\n  \"global_step\": " + std::to_string(steps) +
         ",\n  \"is_world_process_zero\": true,\n  \"log_history\": [\n" + rows +
         "  ],\n  \"logging_steps\": 10,\n  \"stateful_callbacks\": {\n    \"TrainerControl\": {\n      \"loss\": 7\n"
         "    }\n  }\n}\n";
}

std::string row(int step, const std::string& numbers) {
  return "    {\n      \"epoch\": 0.1,\n" + numbers + "      \"step\": " + std::to_string(step) + "\n    },\n";
}

std::string lost(int step) {
  return row(step, "      \"grad_norm\": NaN,\n      \"loss\": 0.0,\n");
}

std::vector<TraceStep> aside(const Trace& trace) {
  std::vector<TraceStep> steps;
  for (const TraceStep& step : trace.without_scale) steps.push_back(step);
  return steps;
}

}  // namespace

TEST_CASE("losses and norms that Hugging Face's Trainer prints are kept aside, and no scale is told of") {
  const Trace trace = trace_of_log(printed);
  CHECK(trace.steps.empty());
  REQUIRE(trace.warnings.size() == 1);
  CHECK(trace.warnings.front().code == "no-scale");
  const auto steps = aside(trace);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].loss == 2.3412F);
  CHECK(steps[0].grad_norm == 1.91F);
  CHECK(steps[0].line == 1);
  CHECK(steps[1].loss == 0.0F);
  CHECK(std::isnan(*steps[1].grad_norm));
  CHECK(std::isnan(*steps[2].grad_norm));
  CHECK(steps[2].line == 4);
  CHECK(trace.sources.at(steps[2].source).kind == "huggingface-log");
}

TEST_CASE("so are those of mmcv and mmengine, whose losses have several names in a line") {
  const Trace trace = trace_of_log(
      "2021-11-22 01:32:34,502 - mmocr - INFO - Epoch [1][200/62598]\tlr: 1.000e-03, eta: 7 days, 15:55:58, time: "
      "0.705, "
      "data_time: 0.002, memory: 7239, horizon_bbox_loss: 0.2210, loss: 0.9186, grad_norm: nan\n"
      "10/30 22:19:57 - mmengine - INFO - Epoch(train) [1][240/735]  lr: 1.9813e-04  eta: 2:44:49  time: 2.8874  "
      "data_time: "
      "0.0042  memory: 10762  loss: 2.5128  grad_norm: 2.5099\n");
  const auto steps = aside(trace);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].loss == 0.9186F);
  CHECK(std::isnan(*steps[0].grad_norm));
  CHECK(steps[1].loss == 2.5128F);
  CHECK(steps[1].grad_norm == 2.5099F);
  CHECK(trace.sources.at(0).kind == "mmengine-log");
}

TEST_CASE("a log that tells a scale is told as it was, whatever its trainer prints besides") {
  const std::string scale = "step 10 loss_scale 65536.0\n";
  const Trace trace = trace_of_log(printed + scale);
  CHECK(trace.without_scale.empty());
  CHECK(trace.steps.size() == 1);
  CHECK(trace.sources.size() == 1);
  CHECK(steps_of(trace) == steps_of(trace_of_log("\n\n\n\n" + scale)));
  const Trace two = trace_of({{"a.log", printed}, {"b.csv", "step,loss_scale\n10,65536\n20,65536\n"}});
  CHECK(two.without_scale.empty());
  CHECK(two.steps.size() == 2);
}

TEST_CASE("losses of a trainer that prints no scale are kept with the numbers of their steps") {
  struct Printed {
    const char* line;
    std::int64_t step;
    float loss;
  };
  const Printed lines[] = {
      {"[rank0]:[titan] 2026-05-18 16:08:16,958 - root - INFO - \x1b[31mstep: 54  \x1b[32mloss:  2.77350  "
       "\x1b[38;2;180;60;0mgrad_norm:  0.5348  \x1b[39mmemory:  9.46GiB(64.99%)  tps: 7,084  mfu: 0.16%",
       54, 2.7735F},
      {"01/17/2024 13:48:41 [INFO|DP=0|PP=0|TP=0|ip-26-0-160-225]: iteration: 991 / 1000 | consumed_tokens: 634K | "
       "elapsed_time_per_iteration_ms: 35.7 | lm_loss: 10.6 | lr: 1e-05 | grad_norm: 0.516",
       991, 10.6F},
      {"Training epoch 0, iteration 120/149 | lr: 3e-05 | global_step: 120 | reduced_train_loss: 1.233 | val_loss: 4.1",
       120, 1.233F},
      {"step 5 aux_loss: nan loss: 1.9", 5, 1.9F},
      {"step=5 | z_loss=nan | aux loss=nan | loss=1.9", 5, 1.9F},
      {"step 5 | loss_ce nan | moe_loss nan | total_loss 1.9", 5, 1.9F},
      {"DLL 2020-11-03 17:25:26.325 - Training Epoch: 0 Training Iteration: 2  average_loss : 10.4 step_loss : 9.25 "
       "learning_rate : 0.0001",
       2, 9.25F},
      {"epoch: 1 step: 100, loss is 2.3012", 100, 2.3012F},
      {"steps: 16 loss: 0.7332 iter time (s): 3.181 samples/sec: 0.314", 16, 0.7332F},
      {"iter 7 step 1: loss 1.1201, iter time: 1819.72ms (optimizer.step)", 1, 1.1201F},
      {"Epoch: 0, Batch: 7, Global Step: 7, Step Time: 1.6160, Loss: 327.3580", 7, 327.358F},
      {"Epoch 2:  71%|#######   | 5880/8295 [04:01<01:39, 24.37it/s, v_num=0, train_loss_step=0.500, val_loss=nan, "
       "train_loss_epoch=0.700]",
       22470, 0.5F},
      {"Steps:   2%|2         | 201/10000 [02:10<1:45:40,  1.55it/s, lr=1e-5, step_loss=0.123]", 201, 0.123F},
      {"Train: 1 [ 100/1251 (  8%)]  Loss: 6.94 (6.95)  Time: 0.512s, 500.00/s  LR: 1.000e-06  Data: 0.010", 1351,
       6.94F},
  };
  for (const Printed& printed_line : lines) {
    INFO(printed_line.line);
    const Trace trace = trace_of_log(std::string(printed_line.line) + "\n");
    CHECK(trace.steps.empty());
    const auto steps = aside(trace);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].step == printed_line.step);
    CHECK(steps[0].loss == printed_line.loss);
  }
}

TEST_CASE("Keras' bars tell losses without numbers of steps") {
  for (const char* line :
       {"1563/1563 [==============================] - 10s 6ms/step - loss: nan - accuracy: 0.1 - val_loss: 2.5",
        " 20/100 [=====>........................] - ETA: 0s - loss: nan - accuracy: 0.1",
        "\x1b[1m15/63\x1b[0m \x1b[32m━━━━\x1b[0m\x1b[37m━━\x1b[0m \x1b[1m5s\x1b[0m 3ms/step - accuracy: 0.1 - loss: "
        "nan",
        "1563/1563 - 5s - loss: nan - accuracy: 0.1 - 5s/epoch - 3ms/step"}) {
    INFO(line);
    const auto steps = aside(trace_of_log(std::string(line) + "\n"));
    REQUIRE(steps.size() == 1);
    CHECK_FALSE(steps[0].step.has_value());
    CHECK(std::isnan(steps[0].loss.value_or(0)));
  }
  CHECK(trace_of_log("Epoch 3 - loss: nan\n").without_scale.empty());
}

TEST_CASE(
    "DLLogger tells a step as its epoch and its number in that, an evaluation's by three, and each is a step of its "
    "own") {
  const auto line = [](const std::string& step, const std::string& data) {
    return R"(DLLL {"datetime": "2020-05-29 11:31:45.763713", "type": "LOG", "step": )" + step + R"(, "data": {)" +
           data + "}}\n";
  };
  const Trace trace =
      trace_of_log(line("[0, 12]", R"("average_loss": 10.4, "step_loss": 10.1, "learning_rate": 0.0006)") +
                   line("[0, 13]", R"("average_loss": 10.4, "step_loss": NaN)") + line("[0, 13, 4]", R"("loss": 7.5)") +
                   line("[1, 14]", R"("train_loss": 9.5)"));
  CHECK(trace.steps.empty());
  const auto steps = aside(trace);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].step == 12);
  CHECK(steps[0].loss == 10.1F);
  CHECK(steps[1].step == 13);
  CHECK(std::isnan(*steps[1].loss));
  CHECK_FALSE(steps[2].step.has_value());  // of the second epoch: how long the first was, nothing says
  CHECK(steps[2].loss == 9.5F);
  CHECK(trace.sources.at(steps[2].source).kind == "dllogger-log");
}

TEST_CASE("what is told of an evaluation, or of no step, is no loss of the run") {
  for (const char* line : {"step 1000: val loss nan", "Validation: step 1000, loss nan", "eval_loss: nan step: 10",
                           "the loss is nan", "Validation DataLoader 0: 50%|##  | 5/10 [00:01<00:01, 4.4it/s]"}) {
    INFO(line);
    CHECK(trace_of_log(std::string(line) + "\n").without_scale.empty());
  }
}

TEST_CASE("eight ranks that print one step are one report of it") {
  std::string text;
  for (int step = 1; step <= 2; ++step) {
    for (int rank = 0; rank < 8; ++rank) {
      text +=
          "[rank" + std::to_string(rank) + "]:[titan] step: " + std::to_string(step) + "  loss: nan  grad_norm: nan\n";
    }
  }
  CHECK(aside(trace_of_log(text)).size() == 2);
}

TEST_CASE("a log that counts skipped steps, none, and tells no scale, has its losses as well") {
  const auto log = [](int skipped) {
    std::string text;
    for (int step = 1; step <= 4; ++step) {
      const std::string number = std::to_string(step);
      text += "[INFO] [logging.py:123:log_dist] [Rank 0] step=" + number +
              ", skipped=" + std::to_string(skipped * step) + ", lr=[1e-06], mom=[0.0]\nsteps: " + number +
              " loss: nan iter time (s): 3.1\n";
    }
    return trace_of_log(text);
  };
  const Trace none_skipped = log(0);
  CHECK(none_skipped.steps.size() == 4);
  REQUIRE(none_skipped.without_scale.size() == 4);
  const TraceStep first = aside(none_skipped).front();
  CHECK(none_skipped.sources.at(first.source).kind == "log");
  CHECK(log(1).without_scale.empty());
}

TEST_CASE("a line with a loss between the two halves of an overflow's message leaves it whole") {
  const std::string begin = "[INFO] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale:\n";
  const std::string end = "65536, reducing to 32768\n";
  const auto whole = steps_of(trace_of_log(begin + end));
  REQUIRE(whole.size() == 1);
  CHECK(steps_of(trace_of_log(begin + "step 3 loss 0.5\n" + end)).size() == 1);
}

TEST_CASE("a trainer_state.json tells the losses of its steps, NaN among them, and its evaluations are none") {
  const std::string rows = row(10, "      \"grad_norm\": 1.5,\n      \"loss\": 2.5,\n") + lost(20) +
                           row(20, "      \"eval_loss\": NaN,\n      \"eval_runtime\": 3.5,\n");
  const Trace trace = trace_of({{"trainer_state.json", trainer_state(20, rows)}});
  CHECK(trace.steps.empty());
  const auto steps = aside(trace);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].step == 10);
  CHECK(steps[0].loss == 2.5F);
  CHECK(steps[0].grad_norm == 1.5F);
  CHECK(steps[1].step == 20);
  CHECK(steps[1].loss == 0.0F);
  CHECK(std::isnan(*steps[1].grad_norm));
  CHECK(trace.sources.at(0).kind == "trainer-state");
}

TEST_CASE("a trainer_state.json is read however it was laid out: by Windows, in one line, with other indentation") {
  const auto without = [](std::string text, const std::string& what, const std::string& instead) {
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + instead.size())) {
      text.replace(at, what.size(), instead);
    }
    return text;
  };
  const std::string first = row(10, "      \"loss\": 2.5,\n      \"note\": \"a \\\" and a }\",\n");
  const std::string indented = trainer_state(30, first + lost(20) + without(lost(30), "},\n", "}\n"));
  const std::string one_line = without(without(indented, "\n", ""), "  ", "");
  const std::string many_lines = without(indented, " ", " \n");
  std::string long_line = one_line;
  long_line.insert(long_line.find("{\"epoch\": 0.1"), std::string(1 << 20, ' '));
  for (const std::string& text : {indented, without(indented, "\n", "\r\n"), "\xef\xbb\xbf" + indented, one_line,
                                  without(one_line, ": ", ":"), without(indented, "  ", "\t"), many_lines, long_line}) {
    INFO(text.substr(0, 200));
    const Trace trace = trace_of({{"trainer_state.json", text}});
    const auto steps = aside(trace);
    REQUIRE(steps.size() == 3);
    CHECK(steps[0].loss == 2.5F);
    CHECK(steps[2].step == 30);
    CHECK(std::isnan(*steps[2].grad_norm));
    CHECK(trace.sources.at(0).kind == "trainer-state");
  }
}

TEST_CASE("of checkpoints that were saved in one line the furthest tells what all tell, too") {
  std::string rows;
  std::map<std::string, std::string> files;
  for (int step = 500; step <= 1500; step += 500) {
    rows += (rows.empty() ? "" : ",") + std::string("{\"loss\":2.5,\"step\":") + std::to_string(step) + "}";
    files["checkpoint-" + std::to_string(step) + "/trainer_state.json"] =
        "{\"global_step\":" + std::to_string(step) + ",\"log_history\":[" + rows + "]}";
  }
  CHECK(aside(trace_of(files)).size() == 3);
}

TEST_CASE("losses of FunASR, litgpt and composer are told, and none of their validations") {
  const std::string funasr =
      ", rank: 0, epoch: 0/50, data_slice: 0/1, step_in_slice: 50/1000, step_in_epoch: 50, total step: 650, "
      "(loss_avg_rank: nan), (loss_avg_slice: nan), (ppl_avg_slice: nan), [('loss_att', nan), ('loss', nan)]\n";
  const auto spoken = aside(trace_of_log("[INFO] - train" + funasr + "[INFO] - val" + funasr));
  REQUIRE(spoken.size() == 1);
  CHECK(spoken[0].step == 650);
  CHECK(std::isnan(*spoken[0].loss));
  const auto written =
      aside(trace_of_log("Epoch 1 | iter 8 step 4 | loss train: nan, val: n/a | iter time: 300.12 ms\n"));
  REQUIRE(written.size() == 1);
  CHECK(written[0].step == 4);
  std::string composed;
  for (int batch = 10; batch <= 30; batch += 10) {
    composed += "[batch=" + std::to_string(batch) + "/1000]:\n\t Train time/batch: 9\n\t Train loss/train/total: nan\n";
  }
  CHECK(aside(trace_of_log(composed + "\t Eval loss/eval/total: 3.0\n")).size() == 3);
}

TEST_CASE("a line that names several losses is one report") {
  const auto reports = [](const std::string& line) { return aside(trace_of_log(line + line + line)).size(); };
  CHECK(reports("Training  [0/125000]  eta: 1:00  total_loss: 15.1 (15.1)  dino_local_crops_loss: 10.1 (10.1)\n") == 3);
  CHECK(reports("total_loss nan, aux_loss nan, mlm_loss nan\n") == 3);
  CHECK(reports("Loss: 2.0 Aux Loss: 1.0 loss_ce: 3.0\n") == 3);
  CHECK(aside(trace_of_log("step 1 loss nan aux_loss nan\nstep 2 loss nan aux_loss nan\n")).size() == 2);
}

TEST_CASE("a configuration with a byte order mark is no log, as it is none without") {
  const std::string settings = "{\n  \"step\": 3, \"loss\": NaN\n}\n";
  CHECK(aside(trace_of({{"config.json", settings}})).empty());
  CHECK(aside(trace_of({{"config.json", "\xef\xbb\xbf" + settings}})).empty());
}

TEST_CASE("a trainer_state.json in which a callback logged the scale is a trace of it") {
  const std::string rows = row(10, "      \"loss\": 2.5,\n      \"loss_scale\": 65536.0,\n") +
                           row(20, "      \"loss\": 2.4,\n      \"loss_scale\": 32768.0,\n");
  const Trace trace = trace_of({{"trainer_state.json", trainer_state(20, rows)}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 2);
  CHECK(steps[1].step == 20);
  CHECK(steps[1].after == 32768);
  CHECK(steps[1].loss == 2.4F);
  CHECK(trace.without_scale.empty());
}

TEST_CASE("of a run's checkpoints the furthest tells what all tell, whatever the folders are called") {
  std::string rows;
  std::map<std::string, std::string> files;
  for (int step = 500; step <= 1500; step += 500) {
    rows += row(step, "      \"grad_norm\": 1.5,\n      \"loss\": 2.5,\n");
    files["out/checkpoint-" + std::to_string(step) + "/trainer_state.json"] = trainer_state(step, rows);
  }
  files["out/trainer_state.json"] = files["out/checkpoint-500/trainer_state.json"];  // before it went on
  const Trace trace = trace_of(files);
  REQUIRE(aside(trace).size() == 3);
  CHECK(aside(trace).back().step == 1500);
  REQUIRE(trace.sources.size() == 1);
  CHECK(trace.sources[0].path == "run/out/checkpoint-1500/trainer_state.json");
}

TEST_CASE("a row that is cut off, or is no JSON, is left out, and the others are read") {
  const std::string good = row(10, "      \"loss\": 2.5,\n"), bad = row(20, "      \"loss\": ,\n");
  const Trace broken = trace_of({{"trainer_state.json", trainer_state(30, good + bad + lost(30))}});
  CHECK(aside(broken).size() == 2);
  CHECK(broken.warnings.front().code == "broken-lines");
  std::string cut = trainer_state(30, good + lost(30));
  cut.resize(cut.find("NaN"));
  CHECK(aside(trace_of({{"trainer_state.json", cut}})).size() == 1);
}
