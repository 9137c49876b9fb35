// Tables, lines of JSON, metrics and W&B's files as other programs write them: quotes, separators, nested keys, names
// of steps, and what is broken in them.
#include <cmath>

#include "lib/base/crc32.hpp"
#include "lib/container/varint.hpp"
#include "tests/catch.hpp"
#include "tests/unit/trace/event_file.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;
using namespace tare::test;

namespace {

/// "4:2048 9:1024": the number of each step, and the scale that it left.
std::string course(const Trace& trace) {
  std::string text;
  for (const TraceStep& step : trace.steps) {
    text += (text.empty() ? "" : " ") + (step.step ? std::to_string(*step.step) : "-") + ":";
    text += step.after ? std::to_string(std::lround(*step.after)) : "-";
  }
  return text;
}

std::string course_of_file(const std::string& name, const std::string& text) {
  return course(trace_of({{name, text}}));
}

std::string warned(const Trace& trace, std::string_view code) {
  for (const TraceWarning& warning : trace.warnings) {
    if (warning.code == code) return warning.text;
  }
  return "no " + std::string(code);
}

/// A part of a record in W&B's file: 1 whole, 2 the first, 3 one in the midst, 4 the last.
std::string chunk(std::uint8_t type, ByteView content) {
  Bytes checked{static_cast<std::byte>(type)}, bytes;
  checked.insert(checked.end(), content.begin(), content.end());
  append_le(bytes, crc32(checked));
  append_le(bytes, static_cast<std::uint16_t>(content.size()));
  bytes.insert(bytes.end(), checked.begin(), checked.end());
  return text_of(bytes);
}

/// Keys of one level are field 16 of an item's bytes with their JSON; nested ones are told part by part.
Bytes history_record(const std::vector<std::pair<std::vector<std::string>, std::string>>& items) {
  Bytes history, record;
  for (const auto& [keys, json] : items) {
    Bytes item;
    for (const std::string& key : keys) add_run(item, keys.size() == 1 ? 1 : 2, bytes_of(key));
    append_varint(item, 16 << 3 | 2);
    append_varint(item, json.size());
    const ByteView text = as_bytes(json);
    item.insert(item.end(), text.begin(), text.end());
    add_run(history, 1, item);
  }
  add_run(record, 2, history);
  return record;
}

const std::string wandb_head(":W&B\xe1\xbe\0", 7);

Bytes wandb_history(int step, const std::string& scale) {
  return history_record({{{"_step"}, std::to_string(step)}, {{"train", "loss_scale"}, scale}});
}

}  // namespace

TEST_CASE("a table's cells are parted by what its header is parted by, and by none that stands in quotes") {
  for (const char* table :
       {"step,loss_scale\n4,2048.0\n9,1024.0\n", "step;note;loss_scale\n4;a,b,c;2048.0\n9;,;1024.0\n",
        "step\tnote\tloss_scale\n4\tx\t2048.0\n9\t\t1024.0\n",
        "\"step\",\"note\",\"loss_scale\"\n\"4\",\"a,b\",\"2048.0\"\n\"9\",\"c\",\"1024.0\"\n",
        "note,step,loss_scale\n\"x,1,7\",4,2048.0\n\"y,2\",9,1024.0\n",
        "step, loss_scale\n4, 2048.0, 5, 6\n9, 1024.0\n"}) {
    INFO(table);
    CHECK(course_of_file("metrics.csv", table) == "4:2048 9:1024");
  }
}

TEST_CASE("a table whose last line is cut off, or whose cell is no number, tells what is whole of it") {
  CHECK(course_of_file("metrics.csv", "step,loss_scale\n4,2048.0\n9,10") == "4:2048");
  CHECK(course_of_file("metrics.csv", "step,loss_scale\n4,2048.0\n9,1024x\n11,512.0\n") == "4:2048 11:512");
  CHECK(course_of_file("metrics.csv", "step,loss_scale\n4,\n9,1024.0\n") == "9:1024");
  CHECK(course_of_file("metrics.csv", "step,loss_scale\n4.5,2048.0\n") == "-:2048");
}

TEST_CASE(
    "of several columns that could count steps the surest does, wherever it stands, an epoch where there is none") {
  CHECK(course_of_file("m.csv", "iter,step,loss_scale\n900,4,2048.0\n901,9,1024.0\n") == "4:2048 9:1024");
  CHECK(course_of_file("m.csv", "step,iter,loss_scale\n4,900,2048.0\n9,901,1024.0\n") == "4:2048 9:1024");
  CHECK(course_of_file("m.csv", "step,iter,loss_scale\n,900,2048.0\n9,901,1024.0\n") == "900:2048 9:1024");
  const Trace epochs = trace_of({{"m.csv", "epoch,loss_scale\n1,2048.0\n2,1024.0\n"}});
  CHECK(course(epochs) == "1:2048 2:1024");
  CHECK(epochs.unit == "epoch");
  CHECK(trace_of({{"m.csv", "epoch,step,loss_scale\n1,4,2048.0\n"}}).unit == "step");
}

TEST_CASE("lines of JSON count by the surest name of a step, and say so where they count updates or epochs") {
  const auto unit_of = [](const std::string& line) { return trace_of({{"m.jsonl", line + "\n"}}).unit; };
  const std::string scale = ", \"loss_scale\": 2048}";
  CHECK(course_of_file("m.jsonl", "{\"iter\": 900, \"step\": 4" + scale + "\n") == "4:2048");
  CHECK(course_of_file("m.jsonl", "{\"step\": 4, \"iter\": 900" + scale + "\n") == "4:2048");
  CHECK(course_of_file("m.jsonl", "{\"epoch\": 1, \"step\": 4" + scale + "\n") == "4:2048");
  CHECK(course_of_file("m.jsonl", "{\"step\": 4.5" + scale + "\n") == "-:2048");
  CHECK(course_of_file("m.jsonl", "{\"step\": true" + scale + "\n") == "-:2048");
  CHECK(unit_of("{\"step\": 4" + scale) == "step");
  CHECK(unit_of("{\"num_updates\": 4" + scale) == "update");
  CHECK(unit_of("{\"epoch\": 4" + scale) == "epoch");
  const Trace means = trace_of({{"m.jsonl", "{\"epoch\": 4" + scale + "\n"}});
  CHECK((*means.steps.begin()).smoothed == 2048.0);
}

TEST_CASE("numbers of JSON are found in nested objects and behind odd texts, and not in lists") {
  for (const char* line :
       {"{\"step\": 4, \"train\": {\"loss_scale\": 2048.0}}",
        "{\"a\": [], \"b\": {}, \"step\": 4, \"loss_scale\": 2048}",
        "{\"text\": \"a \\\"quote\\\" and \\\\\", \"step\": 4, \"loss_scale\": 2048}",
        "{ \"step\" : \"4\" ,\t\"loss_scale\" : \"2048.0\" }", "{\"step\":4,\"x\":null,\"y\":true,\"loss_scale\":2048}",
        "{\"list\": [1, {\"loss_scale\": 7}, [2]], \"step\": 4, \"loss_scale\": 2048}",
        "{\"step\": \"4/93\", \"loss_scale\": 2048}"}) {
    INFO(line);
    CHECK(course_of_file("m.jsonl", std::string(line) + "\n") == "4:2048");
  }
  std::string deep = "1", too_deep = "1";
  for (int i = 0; i < 15; ++i) deep = "{\"a\": " + deep + "}";
  for (int i = 0; i < 16; ++i) too_deep = "{\"a\": " + too_deep + "}";
  CHECK(course_of_file("m.jsonl", "{\"step\": 4, \"loss_scale\": 2048, \"x\": " + deep + "}\n") == "4:2048");
  const std::string both =
      "{\"step\": 4, \"loss_scale\": 2048}\n{\"step\": 5, \"loss_scale\": 2048, \"x\": " + too_deep + "}\n";
  CHECK(course_of_file("m.jsonl", both) == "4:2048");
}

TEST_CASE("how many lines of JSON are broken is told, with the first of them, and the others are read") {
  const std::string whole = "{\"step\": 4, \"loss_scale\": 2048}\n";
  for (const char* broken :
       {"{\"step\": 5, \"loss_scale\": 1024", "{\"step\": 5, \"loss_scale\": 1024} x", "{\"step\" 5}",
        "{\"step\": 5 \"loss_scale\": 1024}", "[5]", "{\"step\": 5, \"loss_scale\"}", "{\"a\": [1, 2}"}) {
    INFO(broken);
    const Trace trace = trace_of({{"m.jsonl", whole + broken + "\n \t\n" + broken + "\n"}});
    CHECK(course(trace) == "4:2048");
    CHECK(warned(trace, "broken-lines") == "run/m.jsonl: 2 lines are no JSON, the first is line 2");
  }
}

TEST_CASE("a metric of MLflow is told line by line, and what is no metric is counted") {
  const std::string rows = "1763880000000 32768.0 0\n1763880000900 16384.0 1\n";
  CHECK(course_of_file("metrics/loss_scale", rows) == "0:32768 1:16384");
  CHECK(course_of_file("loss_scale", rows) == "0:32768 1:16384");
  const Trace broken =
      trace_of({{"metrics/loss_scale", rows + "1763880001900 8192.0\nno metric\n1763880002000 4096.0 3\n"}});
  CHECK(course(broken) == "0:32768 1:16384 3:4096");
  CHECK(warned(broken, "broken-lines") == "run/metrics/loss_scale: 2 lines are no metric, the first is line 3");
}

TEST_CASE("a W&B file's records are told though they are cut into chunks, and its numbers whatever JSON they are") {
  const Bytes row = wandb_history(4, "2048.0");
  const ByteView view = row;
  std::string file = wandb_head + chunk(2, view.first(5)) + chunk(3, view.subspan(5, 7)) + chunk(4, view.subspan(12));
  file += chunk(1, wandb_history(9, "\"1024.0\""));
  file += chunk(1, wandb_history(10, "{}")) + chunk(1, wandb_history(11, "512"));
  const Trace trace = trace_of({{"run-abc.wandb", file}});
  CHECK(course(trace) == "4:2048 9:1024 11:512");
  CHECK(trace.sources.at(0).tag == "train/loss_scale");
  const Trace flags = trace_of(
      {{"run-abc.wandb",
        wandb_head + chunk(1, history_record({{{"_step"}, "1"}, {{"loss_scale"}, "2048"}, {{"skipped"}, "true"}})) +
            chunk(1, history_record({{{"_step"}, "2"}, {{"loss_scale"}, "2048"}, {{"skipped"}, "false"}}))}});
  const auto steps = steps_of(flags);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].overflow == true);
  CHECK(steps[1].overflow == false);
}

TEST_CASE("a W&B file goes on in its next block, behind what is left of one that holds no chunk's head") {
  constexpr std::size_t block = 32768, head = 7;
  for (const std::size_t left : {std::size_t{0}, std::size_t{1}, head - 1}) {
    INFO(left << " bytes are left of the block");
    std::string file = wandb_head + chunk(1, wandb_history(4, "2048.0"));
    const Bytes filler(block - left - file.size() - head, std::byte{0});
    file += chunk(1, filler) + std::string(left, '\0') + chunk(1, wandb_history(9, "1024.0"));
    const Trace trace = trace_of({{"run-abc.wandb", file}});
    CHECK(course(trace) == "4:2048 9:1024");
    CHECK(trace.warnings.empty());
  }
}

TEST_CASE("a W&B file that is damaged tells what lies before, and behind which record that is") {
  const std::string rows = wandb_head + chunk(1, wandb_history(4, "2048.0")) + chunk(1, wandb_history(9, "1024.0"));
  std::string damaged = rows + chunk(1, wandb_history(10, "512.0"));
  damaged[damaged.size() - 3] ^= 1;
  const Trace trace = trace_of({{"run-abc.wandb", damaged}});
  CHECK(course(trace) == "4:2048 9:1024");
  CHECK(warned(trace, "crc") ==
        "run/run-abc.wandb: behind record 2 it is damaged or cut off: what comes before is told");
  for (const std::string& end :
       {std::string(7, '\0') + "more", chunk(2, wandb_history(10, "512.0")), std::string("\1\2\3")}) {
    const Trace lost = trace_of({{"run-abc.wandb", rows + end}});
    CHECK(course(lost) == "4:2048 9:1024");
    CHECK(warned(lost, "truncated") ==
          "run/run-abc.wandb: behind record 2 it is damaged or cut off: what comes before is told");
  }
}

TEST_CASE("of two series with equally sure names the longer is the scale, and the other is named") {
  std::string text;
  for (int step = 1; step <= 4; ++step) {
    text += "{\"step\": " + std::to_string(step) + ", \"b/loss_scale\": 1024" +
            (step > 1 ? "" : ", \"a/loss_scale\": 2") + "}\n";
  }
  const Trace trace = trace_of({{"m.jsonl", text}});
  CHECK(course(trace) == "1:1024 2:1024 3:1024 4:1024");
  CHECK(warned(trace, "other-series") ==
        "the scale told is \"b/loss_scale\"; \"a/loss_scale\" could be one as well: ask for it by its name");
}

TEST_CASE("Megatron's series by samples counts samples, and its files by samples do") {
  std::string by_samples, bare;
  for (int step = 1; step <= 3; ++step) {
    by_samples += event(step * 64, "loss-scale vs samples", 1024);
    bare += event(step * 64, "Train/Samples/loss_scale", 1024);
  }
  CHECK(trace_of({{"events.out.tfevents.1", by_samples}}).unit == "sample");
  CHECK(trace_of({{"events.out.tfevents.1", bare}}).unit == "sample");
  CHECK(trace_of({{"Train_Samples_loss_scale.csv", "step,loss_scale\n64,1024.0\n"}}).unit == "sample");
  CHECK(trace_of({{"Train_loss_scale.csv", "step,loss_scale\n64,1024.0\n"}}).unit == "step");
}
