// A run that is watched, where memory runs out.
#include <tare/tare.h>

#include <fstream>
#include <string>

#include "tests/capi/failing_memory.hpp"
#include "tests/capi/scratch.hpp"
#include "tests/catch.hpp"

using tare::test::Scratch;

TEST_CASE("a look that runs out of memory is status 3, and leaves nothing behind") {
  const Scratch folder;
  std::ofstream log(folder.path("train.log"));
  for (int step = 1; step < 20; ++step) log << "step " << step << " loss_scale: " << (65536 >> step / 2) << '\n';
  log.close();
  const auto look = [&] {
    const char* paths[] = {folder.folder().c_str()};
    tare_watch* watch = nullptr;
    tare_text* text = nullptr;
    int32_t status = tare_watch_create(&watch, paths, 1, nullptr, nullptr);
    if (status == TARE_OK) status = tare_watch_look(&text, watch, 0, nullptr);
    tare_text_destroy(text);
    tare_watch_destroy(watch);
    return status;
  };
  // The C library's clock and its sorting do without.
  tare::test::fail_everywhere_or_give(TARE_OK, "watch", look);
}
