// A loss scaler in C++, through tare.hpp: c++ -std=c++17 example.cpp -ltare
//
//     example CHECKPOINT FOLDER
#include <cmath>
#include <cstdio>
#include <tare/tare.hpp>

int main(int count, char** arguments) try {
  if (count != 3) return std::puts("usage: example CHECKPOINT FOLDER"), 2;
  const std::string folder = arguments[2];

  tare::cxx::Scaler scaler(R"({"policy":"torch","initial_scale":1024})");
  std::vector<float> gradients{1024.0f, INFINITY, 512.0f};
  tare::cxx::Grads list(scaler, {tare::cxx::tensor(gradients.data(), gradients.size())});
  list.unscale_and_update();
  std::printf("unscaled %g, scale %g\n", static_cast<double>(gradients[0]), scaler.scale());

  scaler.save().write(folder + "/cpp.json");
  scaler.save().write(folder + "/cpp.h5");
  std::printf("read back %g and %g\n", tare::cxx::State::read(folder + "/cpp.json").number("scale"),
              tare::cxx::State::read(folder + "/cpp.h5").number("scale"));

  scaler.load(tare::cxx::State::from_checkpoint(arguments[1]));
  scaler.report_overflow(true);
  scaler.update();
  std::printf("an overflow after the checkpoint: scale %g\n", scaler.scale());
  return 0;
} catch (const tare::cxx::Failure& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
