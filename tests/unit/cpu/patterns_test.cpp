// Every pattern that 8 and 16 bits can have, and for f32 those where a narrower format changes its mind.

#include "kernels/magnitude.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr Dtype narrow_types[] = {Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2};
constexpr Dtype writable[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16};

Array all_patterns(Dtype dtype) {
  Array array(dtype, std::uint64_t{1} << (8 * size_of(dtype)));
  for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, i);
  return array;
}

}  // namespace

TEST_CASE("each of the 2^16 and 2^8 patterns, alone in a tensor, has the statistics of its value") {
  const double threshold = 0.1;
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (const Dtype dtype : narrow_types) {
      INFO(cpu::name_of(set) << " " << name_of(dtype));
      Array array = all_patterns(dtype);
      std::vector<Tensor> tensors(array.count(), array.tensor());
      for (std::uint64_t i = 0; i < array.count(); ++i) {
        tensors[i].data = static_cast<std::byte*>(tensors[i].data) + i * array.size();
        tensors[i].count = 1;
      }
      std::vector<Statistics> each(array.count());
      list->assign(tensors.data(), tensors.size(), nullptr);
      list->observe({.each = each.data(), .threshold = threshold}, nullptr);
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < array.count(); ++i) {
        Array alone(dtype, 1);
        alone.set(0, i);
        if (!same(each[i], statistics_of(alone, threshold))) ++wrong;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("all patterns together have the statistics of their values, and say that they are not finite") {
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (const Dtype dtype : narrow_types) {
      INFO(cpu::name_of(set) << " " << name_of(dtype));
      Array array = all_patterns(dtype);
      const Tensor tensor = array.tensor();
      float found_inf = 0;
      Statistics total;
      list->assign(&tensor, 1, nullptr);
      list->observe({.found_inf = &found_inf, .total = &total, .threshold = 1e-3}, nullptr);
      CHECK(same(total, statistics_of(array, 1e-3)));
      CHECK(total.zeros == 2);
      CHECK(found_inf == 1.0f);
    }
  }
}

TEST_CASE("every f16 and bf16 pattern is unscaled, and cast to every dtype, as element by element") {
  const float scales[] = {1.0f, 1.0f / 65536, 1.0f / 3, 1024.0f, 0x1p-140f, 0.0f, INFINITY};
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    for (const Dtype from : {Dtype::f16, Dtype::bf16}) {
      for (const Dtype to : writable) {
        for (const float scale : scales) {
          INFO(cpu::name_of(set) << " " << name_of(from) << " to " << name_of(to) << ", scale " << scale);
          Array array = all_patterns(from);
          Array expected(to, array.count());
          for (std::uint64_t i = 0; i < array.count(); ++i) {
            expected.set(i, transform(from, array.get(i), to, scale, 1.0f, INFINITY));
          }
          Array written(to, array.count());
          const Tensor tensor = array.tensor();
          const Tensor output = written.tensor();
          list->assign(&tensor, 1, nullptr);
          list->write(&output, {.inverse_scale = &scale}, {}, nullptr);
          CHECK(written == expected);
          if (from == to) {
            list->unscale(&scale, {}, nullptr);
            CHECK(array == expected);
          }
        }
      }
    }
  }
}

TEST_CASE("f32 is rounded to f16 and bf16 to nearest even at and beside every midpoint") {
  for (const Dtype to : {Dtype::f16, Dtype::bf16}) {
    const std::uint32_t dropped = to == Dtype::f16 ? 13 : 16;
    std::vector<std::uint32_t> patterns;
    for (std::uint64_t kept = 0; kept < std::uint64_t{1} << (32 - dropped); ++kept) {
      const auto exact = static_cast<std::uint32_t>(kept << dropped);
      const std::uint32_t midpoint = exact + (1u << (dropped - 1));
      for (const std::uint32_t bits : {exact, exact + 1, midpoint - 1, midpoint, midpoint + 1})
        patterns.push_back(bits);
    }
    std::mt19937 random(7);
    for (int i = 0; i < 200000; ++i) {  // f16's denormals have their midpoints elsewhere
      patterns.push_back(0x33000000u + static_cast<std::uint32_t>(random() % 0x06000000u));
    }
    for (std::uint32_t i = 0; i < 2048; ++i) patterns.push_back(bits_of(static_cast<float>(i) * 0x1p-25f));
    Array array(Dtype::f32, patterns.size());
    Array expected(to, patterns.size());
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      array.set(i, patterns[i]);
      expected.set(i, encode(to, float_from(patterns[i])));
    }
    for (const auto set : available_sets()) {
      INFO(cpu::name_of(set) << " to " << name_of(to));
      cpu::CpuBackend backend(1, set);
      const auto list = backend.make_list();
      Array written(to, patterns.size());
      const Tensor tensor = array.tensor();
      const Tensor output = written.tensor();
      list->assign(&tensor, 1, nullptr);
      list->write(&output, {}, {}, nullptr);
      CHECK(written == expected);
    }
  }
}

TEST_CASE("a threshold's pattern parts the finite magnitudes below it from the others") {
  const double thresholds[] = {0x1p-149, 6e-8, 0.1, 1.0, 448.0, 65504.0, 1e30, INFINITY};
  for (const Dtype dtype : narrow_types) {
    for (const double threshold : thresholds) {
      const std::uint64_t parting = pattern_of_threshold(dtype, threshold);
      const std::uint64_t patterns = std::uint64_t{1} << (8 * size_of(dtype) - 1);
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < patterns; ++i) {
        const double value = std::fabs(decode(dtype, i));
        if (std::isfinite(value) && (value < threshold) != (i < parting)) ++wrong;
        if (!std::isfinite(value) && i < parting) ++wrong;
      }
      CHECK(wrong == 0);
    }
    CHECK(pattern_of_threshold(dtype, 0.0) == 0);
    CHECK(pattern_of_threshold(dtype, -1.0) == 0);
    CHECK(pattern_of_threshold(dtype, NAN) == 0);
  }
  CHECK(pattern_of_threshold(Dtype::f32, 0x1p-149) == 1);
  CHECK(pattern_of_threshold(Dtype::f32, 0x1p-160) == 1);
  CHECK(pattern_of_threshold(Dtype::f32, 1.0) == 0x3f800000u);
  CHECK(pattern_of_threshold(Dtype::f64, 1.0) == 0x3ff0000000000000u);
  CHECK(pattern_of_threshold(Dtype::f32, 1e300) == 0x7f800000u);
}
