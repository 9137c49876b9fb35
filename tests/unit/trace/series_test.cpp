// Tables, lines of JSON, event files: which numbers are the scale, and where a damaged file ends.
#include <cmath>
#include <iterator>
#include <limits>

#include "lib/base/crc32.hpp"
#include "lib/container/varint.hpp"
#include "lib/trace/series/keys.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/event_file.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;
using namespace tare::test;

namespace {

bool warns(const Trace& trace, std::string_view code) {
  for (const TraceWarning& warning : trace.warnings) {
    if (warning.code == code) return true;
  }
  return false;
}

std::string wandb_record(const Bytes& record) {
  Bytes checked{std::byte{1}};
  checked.insert(checked.end(), record.begin(), record.end());
  Bytes chunk;
  append_le(chunk, crc32(checked));
  append_le(chunk, static_cast<std::uint16_t>(record.size()));
  chunk.insert(chunk.end(), checked.begin(), checked.end());
  return text_of(chunk);
}

std::string wandb_row(std::int64_t step, double scale) {
  const auto item = [](std::string_view key, const std::string& json) {
    Bytes bytes;
    add_run(bytes, 2, bytes_of(key));
    append_varint(bytes, 16 << 3 | 2);
    append_varint(bytes, json.size());
    const ByteView text = as_bytes(json);
    bytes.insert(bytes.end(), text.begin(), text.end());
    return bytes;
  };
  Bytes history, record;
  add_run(history, 1, item("train/loss_scale", std::to_string(scale)));
  add_run(history, 1, item("_step", std::to_string(step)));
  add_run(record, 2, history);
  return wandb_record(record);
}

}  // namespace

TEST_CASE("names of numbers") {
  for (const char* name :
       {"loss_scale", "train/loss_scale", "Train/Samples/loss_scale", "loss-scale/loss-scale", "loss-scale vs samples",
        "[metric]grad_scaler", "scaler/scale", "opt/loss_scale", "amp_scale"}) {
    INFO(name);
    CHECK(key_of(name).role == KeyRole::scale);
  }
  for (const char* name : {"lr_scale", "loss", "feature_scale", "loss_scale_window", "logit_scale", "scale_factor"}) {
    INFO(name);
    CHECK(key_of(name).role != KeyRole::scale);
  }
  CHECK(key_of("[metric]grad_scaler").is_before);
  CHECK(key_of("trainer/global_step").role == KeyRole::step);
  CHECK(key_of("loss-scale").rank < key_of("loss-scale vs samples").rank);
}

TEST_CASE("of several losses the step's own is told, and none of an evaluation") {
  for (const char* name : {"val_loss", "eval/loss", "valid loss", "Validation/total_loss", "test.loss"}) {
    INFO(name);
    CHECK(key_of(name).role == KeyRole::none);
  }
  const auto trace =
      trace_of({{"metrics.jsonl",
                 "{\"step\": 1, \"eval/loss\": 7, \"train/aux_loss\": NaN, \"train_loss\": 1.5, \"loss_scale\": 2}\n"
                 "{\"step\": 2, \"z_loss\": NaN, \"train/loss\": 2.5, \"aux_loss\": NaN, \"loss_scale\": 2}\n"
                 "{\"step\": 3, \"average_loss\": 9, \"step_loss\": 3.5, \"loss_scale\": 2}\n"}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 3);
  CHECK(steps[0].loss == 1.5F);
  CHECK(steps[1].loss == 2.5F);
  CHECK(steps[2].loss == 3.5F);
}

TEST_CASE("a table has steps wherever their column stands, and empty cells where a row tells of something else") {
  const auto trace = trace_of({{"metrics.csv",
                                "epoch,loss_scale,step,train/loss,val_loss\r\n0,4096.0,4,1.5,\r\n0,,4,,0.9\r\n"
                                "epoch,loss_scale,step,train/loss,val_loss\r\n0,2048.0,9,1.0,\r\n"}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 2);
  CHECK(trace.sources.at(0).kind == "csv");
  CHECK(trace.sources.at(0).tag == "loss_scale");
  CHECK(steps[0].step == 4);
  CHECK(steps[0].after == 4096.0);
  CHECK(steps[0].loss == 1.5F);
  CHECK(steps[1].after == 2048.0);
}

TEST_CASE("a table is one whatever its columns are called, and a log's first line with commas is none") {
  for (const char* header : {"step,loss,loss_scale,mAP@0.5:0.95", "train:step,train:loss,train:loss_scale,x",
                             "  step,   loss,   loss_scale,   metrics/mAP_0.5:0.95"}) {
    INFO(header);
    const Trace trace = trace_of({{"results.csv", std::string(header) + "\n1,2.0,65536.0,0.1\n2,2.0,32768.0,0.1\n"}});
    CHECK(trace.sources.at(0).kind == "csv");
    CHECK(trace.steps.size() == 2);
  }
  for (const char* first : {"what is logged: step, loss, loss_scale", "2024-06-01 10:03:59,step,loss,loss_scale",
                            "step,loss,loss_scale:"}) {
    INFO(first);
    const Trace trace = trace_of({{"run.log", std::string(first) + "\nstep 1 loss 2.0 loss_scale 65536.0\n"}});
    CHECK(trace.sources.at(0).kind == "log");
    CHECK(trace.steps.size() == 1);
  }
}

TEST_CASE("steps are counted by the names of ms-swift, LLaMA-Factory and Coqui, too") {
  CHECK(key_of("TrainIterStats/amp_scaler").role == KeyRole::scale);
  CHECK(key_of("TrainEpochStats/avg_amp_scaler").role == KeyRole::none);
  for (const char* step : {"\"global_step/max_steps\": \"10/93\"", "\"current_steps\": 10, \"total_steps\": 93"}) {
    INFO(step);
    const Trace trace = trace_of({{"logging.jsonl", "{\"loss\": NaN, \"epoch\": 0.3, " + std::string(step) + "}\n"}});
    REQUIRE(trace.without_scale.size() == 1);
    CHECK((*trace.without_scale.begin()).step == 10);
  }
}

TEST_CASE("a series of 0 and 1 tells which steps overflowed, as words do, and counts do not") {
  const auto skipped = [](const std::string& name, std::initializer_list<const char*> cells) {
    std::string table = "step,loss_scale," + name + "\n";
    int step = 0;
    for (const char* cell : cells) table += std::to_string(++step) + ",1024.0," + cell + "\n";
    std::vector<bool> told;
    for (const TraceStep& each : trace_of({{"metrics.csv", table}}).steps) told.push_back(each.overflow == true);
    return told;
  };
  using Told = std::vector<bool>;
  CHECK(skipped("overflow", {"0", "1", "0"}) == Told{false, true, false});
  CHECK(skipped("train/found_inf", {"0.0", "1.0", "1.0"}) == Told{false, true, true});
  CHECK(skipped("is_overflow", {"FALSE", "TRUE", "no", "yes"}) == Told{false, true, false, true});
  CHECK(skipped("overflow", {"0", "1", "nan", "0"}) == Told{false, true, false, false});
  CHECK(skipped("overflow", {"0", "1", "1", "2"}) == Told{false, false, false, false});  // so far
  CHECK(skipped("skipped", {"0", "1", "1", "1"}) == Told{false, false, false, false});   // perhaps so far
  CHECK(skipped("skipped", {"0", "1", "0", "1"}) == Told{false, true, false, true});
  CHECK(skipped("step_skipped", {"0", "1", "1"}) == Told{false, true, true});
}

TEST_CASE("lines of JSON as Python writes them, with lines of other kinds and a torn one") {
  const auto trace = trace_of({{"metrics.jsonl",
                                "{\"step\": 1, \"loss\": NaN, \"loss_scale\": 32768.0, \"skipped\": true}\n\n"
                                "{\"event\": \"checkpoint\", \"loss_scale\": \"not a number\"}\n"
                                "{\"step\": 2, \"loss\": 2.0, \"loss_scale\": 32768.0, \"skipped\": false}\n"
                                "{\"step\": 3, \"loss\": 2.0, \"loss_sc"}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 2);
  CHECK(trace.sources.at(0).kind == "jsonl");
  CHECK(steps[0].overflow == true);
  CHECK(steps[1].overflow == false);
  CHECK(warns(trace, "broken-lines"));
}

TEST_CASE("detectron2's scaler is read before its update; mmengine's scalars are means") {
  const auto before = steps_of(trace_of({{"metrics.json", "{\"[metric]grad_scaler\": 65536.0, \"iteration\": 19}\n"}}));
  REQUIRE(before.size() == 1);
  CHECK(before[0].scale == 65536.0);
  CHECK_FALSE(before[0].after.has_value());
  const auto means = trace_of(
      {{"scalars.json",
        "{\"lr\": 0.01, \"data_time\": 0.1, \"loss\": 0.2, \"loss_scale\": 281.6, \"iter\": 20, \"step\": 20}\n"}});
  REQUIRE(means.steps.size() == 1);
  CHECK(means.sources.at(0).kind == "mmengine-log");
  CHECK((*means.steps.begin()).smoothed == 281.6);
}

TEST_CASE("an event file tells its scalars, and ends where it is damaged") {
  std::string file;
  for (int step = 0; step < 20; ++step) {
    file += event(step, "train/loss", 2.0F) + event(step, "train/loss_scale", step < 10 ? 65536.0F : 32768.0F);
  }
  const auto whole = trace_of({{"events.out.tfevents.1", file}});
  REQUIRE(whole.steps.size() == 20);
  CHECK(whole.sources.at(0).kind == "tensorboard");
  CHECK(whole.sources.at(0).tag == "train/loss_scale");
  CHECK((*whole.steps.begin()).loss == 2.0F);
  const auto cut = trace_of({{"events.out.tfevents.1", file.substr(0, file.size() - 5)}});
  CHECK(cut.steps.size() == 19);
  CHECK(warns(cut, "truncated"));
  std::string damaged = file;
  damaged[damaged.size() - 10] = static_cast<char>(damaged[damaged.size() - 10] ^ 1);
  const auto bad = trace_of({{"events.out.tfevents.1", damaged}});
  CHECK(bad.steps.size() == 19);
  CHECK(warns(bad, "crc"));
}

TEST_CASE("event files of a folder are read by the time in their names, and an older step begins a segment") {
  std::string first, second;
  for (int step = 0; step < 40; ++step) first += event(step, "scale", 65536.0F);
  for (int step = 25; step < 60; ++step) second += event(step, "scale", 32768.0F);
  const auto trace = trace_of({{"events.out.tfevents.900.b", first}, {"events.out.tfevents.1000.a", second}});
  REQUIRE(trace.segments.size() == 2);
  CHECK(trace.segments[0].kept == 24);
  CHECK(trace.segments[1].last == 59);
}

TEST_CASE("a series that stands there by iterations and by samples is told once, by iterations") {
  std::string file;
  for (int step = 1; step <= 5; ++step) {
    file += event(step, "loss-scale", 65536.0F) + event(step * 64, "loss-scale vs samples", 65536.0F);
  }
  const auto trace = trace_of({{"events.out.tfevents.1", file}});
  CHECK(trace.steps.size() == 5);
  CHECK(trace.segments.at(0).last == 5);
  CHECK_FALSE(warns(trace, "other-series"));
}

TEST_CASE("MLflow's metric is named by its path, and more columns may follow") {
  const auto trace = trace_of(
      {{"mlruns/1/abc/metrics/train/loss_scale", "1763880000000 32768.0 0\n1763880000900 16384.0 1 data 12ab\n"},
       {"mlruns/1/abc/metrics/loss", "1763880000000 2.0 0\n"}});
  const auto steps = steps_of(trace);
  REQUIRE(steps.size() == 2);
  CHECK(trace.sources.at(0).kind == "mlflow");
  CHECK(trace.sources.at(0).tag == "train/loss_scale");
  CHECK(steps[1].after == 16384.0);
}

TEST_CASE("MLflow's runs are told apart by their folders, and the metrics of one run are not") {
  const auto metrics = [](int scale) {
    std::string text;
    for (int step = 0; step < 30; ++step)
      text += "176388000000" + std::to_string(step) + " " + std::to_string(scale) + ".0 " + std::to_string(step) + "\n";
    return text;
  };
  const auto two =
      trace_of({{"mlruns/1/abc/metrics/loss_scale", metrics(64)}, {"mlruns/1/def/metrics/loss_scale", metrics(32)}});
  CHECK(warns(two, "sources-disagree"));
  CHECK(two.segments.size() == 1);
  CHECK(two.steps.size() == 30);
  const auto one =
      trace_of({{"mlruns/1/abc/metrics/loss_scale", metrics(64)}, {"mlruns/1/abc/metrics/train/loss", metrics(3)}});
  CHECK_FALSE(warns(one, "other-source"));
  CHECK(one.steps.size() == 30);
}

TEST_CASE("a W&B file tells its history, and ends where it is cut off") {
  std::string file(":W&B\xe1\xbe\0", 7);
  for (int step = 0; step < 9; ++step) file += wandb_row(step, 65536.0);
  const auto whole = trace_of({{"run-abc.wandb", file}});
  REQUIRE(whole.steps.size() == 9);
  CHECK(whole.sources.at(0).kind == "wandb");
  CHECK(whole.segments.at(0).last == 8);
  const auto cut = trace_of({{"run-abc.wandb", file.substr(0, file.size() - 3)}});
  CHECK(cut.steps.size() == 8);
  CHECK(warns(cut, "truncated"));
}

TEST_CASE("of several series the surest name is the scale, or the one that is asked for") {
  const std::string text =
      "{\"step\": 1, \"scale\": 2048.0, \"loss_scale\": 1024.0}\n{\"step\": 2, \"scale\": 2.0, \"loss_scale\": "
      "1024.0}\n";
  const auto chosen = trace_of({{"m.jsonl", text}});
  CHECK(chosen.sources.at(0).tag == "loss_scale");
  CHECK(warns(chosen, "other-series"));
  CHECK((*trace_of({{"m.jsonl", text}}, "scale").steps.begin()).after == 2048.0);
  CHECK((*trace_of({{"m.jsonl", "{\"step\": 1, \"scale\": 2.0}\n"}}, "scale").steps.begin()).after == 2.0);
}

TEST_CASE("tables, lines of JSON and event files without a scale tell the losses of their steps") {
  const std::string nan_loss = event(2, "train/loss", std::numeric_limits<float>::quiet_NaN());
  const std::map<std::string, std::string> files = {
      {"a.csv", "epoch,step,train_loss,val_loss\n0,1,1.5,\n0,,,2.5\n0,2,nan,\n"},
      {"a.jsonl", "{\"step\": 1, \"loss\": 1.5}\n{\"step\": 1, \"eval_loss\": 2.5}\n{\"step\": 2, \"loss\": NaN}\n"},
      {"events.out.tfevents.1.host", event(1, "train/loss", 1.5F) + event(1, "val/loss", 2.5F) + nan_loss},
  };
  for (const auto& file : files) {
    INFO(file.first);
    const Trace trace = trace_of({file});
    CHECK(trace.steps.empty());
    REQUIRE(trace.without_scale.size() == 2);
    const TraceStep first = *trace.without_scale.begin();
    CHECK(first.step == 1);
    CHECK(first.loss == 1.5F);
    CHECK(std::isnan((*std::next(trace.without_scale.begin())).loss.value()));
  }
}

TEST_CASE("losses are those of the surest key, wherever in the file it begins, and none where no step is told") {
  const auto losses = [](const std::string& text) {
    std::vector<float> all;
    for (const TraceStep& step : trace_of({{"a.jsonl", text}}).without_scale) all.push_back(step.loss.value_or(-1));
    return all;
  };
  CHECK(
      losses("{\"step\": 1, \"box_loss\": 9.0}\n{\"step\": 1, \"train_loss\": 1.5}\n{\"step\": 2, \"box_loss\": 9.0}\n"
             "{\"step\": 2, \"train_loss\": 1.25}\n") == std::vector<float>{1.5F, 1.25F});
  CHECK(losses("{\"loss\": 9.0}\n").empty());
  CHECK(losses("{\"step\": 1, \"loss\": 9.0}\n{\"step\": 2, \"loss\": 9.0, \"loss_scale\": 2.0}\n").empty());
}
