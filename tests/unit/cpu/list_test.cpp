// Lists of all shapes: random sizes and addresses, every instruction set, several thread counts, one result.
#include <algorithm>
#include <numeric>

#include "kernels/magnitude.hpp"
#include "tests/catch.hpp"
#include "tests/unit/cpu/reference.hpp"

using namespace tare;
using namespace tare::kernels;
using namespace tare::kernels::test;

namespace {

constexpr Statistics stale = {1, 2, 3, 4, 5};  // what an earlier pass may have left: to be overwritten
constexpr Dtype all[] = {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16, Dtype::f8_e4m3fn, Dtype::f8_e5m2};

std::vector<Array> random_arrays(std::mt19937_64& random, std::size_t dtypes, bool specials) {
  const std::uint64_t sizes[] = {0,   1,   2,   3,    4,    31,   32,    33,    63,    64,    65,
                                 511, 512, 513, 1000, 2047, 8192, 32767, 32768, 32769, 150001};
  std::vector<Array> arrays;
  for (int i = 0; i < 40; ++i) {
    const Dtype dtype = all[random() % dtypes];
    const std::uint64_t count = sizes[random() % std::size(sizes)] + (random() % 4 == 0 ? random() % 1000 : 0);
    Array& array = arrays.emplace_back(dtype, count, random() % 17);
    fill(array, random, specials && random() % 2 == 0);
  }
  return arrays;
}

}  // namespace

TEST_CASE("a random list has the reference's statistics with every instruction set and thread count") {
  std::mt19937_64 random(1);
  for (const bool specials : {false, true}) {
    std::vector<Array> arrays = random_arrays(random, 6, specials);
    const std::vector<Tensor> tensors = tensors_of(arrays);
    Reference together(1e-3);
    std::vector<Statistics> expected;
    for (const Array& array : arrays) {
      expected.push_back(statistics_of(array, 1e-3));
      together.add(array);
    }
    const Statistics expected_total = together.statistics();
    CHECK(std::isfinite(expected_total.max_abs) == !specials);
    for (const auto set : available_sets()) {
      for (const unsigned threads : {1u, 2u, 5u}) {
        INFO(cpu::name_of(set) << ", " << threads << " threads");
        cpu::CpuBackend backend(threads, set);
        const auto list = backend.make_list();
        list->assign(tensors.data(), tensors.size(), nullptr);
        float found_inf = 0;
        Statistics total;
        std::vector<Statistics> each(arrays.size(), stale);
        list->observe({&found_inf, &total, each.data(), 1e-3}, nullptr);
        CHECK(found_inf == (specials ? 1.0f : 0.0f));
        CHECK(same(total, expected_total));
        for (std::size_t i = 0; i < arrays.size(); ++i) {
          INFO("tensor " << i << ": " << arrays[i].count() << " " << name_of(arrays[i].dtype()));
          CHECK(same(each[i], expected[i]));
        }
      }
    }
  }
}

TEST_CASE("a random list is unscaled in place as element by element, and nothing beside it is touched") {
  std::mt19937_64 random(2);
  const std::vector<Array> arrays = random_arrays(random, 4, true);
  for (const float scale : {1.0f, 1.0f / 1024, 0.3f}) {
    std::vector<Array> expected = arrays;
    for (Array& array : expected) {
      for (std::uint64_t i = 0; i < array.count(); ++i) {
        array.set(i, transform(array.dtype(), array.get(i), array.dtype(), scale, 1.0f, INFINITY));
      }
    }
    for (const auto set : available_sets()) {
      for (const unsigned threads : {1u, 2u, 5u}) {
        INFO(cpu::name_of(set) << ", " << threads << " threads, scale " << scale);
        cpu::CpuBackend backend(threads, set);
        const auto list = backend.make_list();
        std::vector<Array> values = arrays;
        const std::vector<Tensor> tensors = tensors_of(values);
        std::vector<Statistics> each(arrays.size(), stale);
        list->assign(tensors.data(), tensors.size(), nullptr);
        list->unscale(&scale, {.each = each.data(), .threshold = 0.01}, nullptr);
        CHECK(values == expected);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < arrays.size(); ++i) wrong += !same(each[i], statistics_of(arrays[i], 0.01));
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("a tensor of many pieces is unscaled in place as element by element, infinities among them or not") {
  std::mt19937_64 random(4);
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
    for (const bool specials : {false, true}) {
      Array array(dtype, 400003, random() % 17);
      fill(array, random, specials);
      const Statistics statistics = statistics_of(array, 0.01);
      for (const float scale : {1.0f, 0.3f}) {
        Array expected = array;
        for (std::uint64_t i = 0; i < array.count(); ++i) {
          expected.set(i, transform(dtype, array.get(i), dtype, scale, 1.0f, INFINITY));
        }
        for (const auto set : available_sets()) {
          INFO(cpu::name_of(set) << " " << name_of(dtype) << ", scale " << scale);
          cpu::CpuBackend backend(2, set);
          const auto list = backend.make_list();
          Array values = array;
          const Tensor tensor = values.tensor();
          Statistics total;
          list->assign(&tensor, 1, nullptr);
          list->unscale(&scale, {.total = &total, .threshold = 0.01}, nullptr);
          CHECK(values == expected);
          CHECK(same(total, statistics));
        }
      }
    }
  }
}

TEST_CASE("a random list is unscaled, clipped and cast into outputs as element by element") {
  std::mt19937_64 random(3);
  std::vector<Array> arrays = random_arrays(random, 4, true);
  const std::vector<Tensor> tensors = tensors_of(arrays);
  const float scale = 1.0f / 3;
  const float coefficient = 0.7f;
  const float limit = 2e-4f;
  std::vector<Array> expected;
  for (const Array& array : arrays) {
    Array& output = expected.emplace_back(all[random() % 4], array.count(), random() % 17);
    for (std::uint64_t i = 0; i < array.count(); ++i) {
      output.set(i, transform(array.dtype(), array.get(i), output.dtype(), scale, coefficient, limit));
    }
  }
  for (const auto set : available_sets()) {
    for (const unsigned threads : {1u, 5u}) {
      INFO(cpu::name_of(set) << ", " << threads << " threads");
      cpu::CpuBackend backend(threads, set);
      const auto list = backend.make_list();
      std::vector<Array> written = expected;
      for (Array& array : written) {
        for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, 0x5555555555555555u);
      }
      const std::vector<Tensor> outputs = tensors_of(written);
      float found_inf = 0;
      list->assign(tensors.data(), tensors.size(), nullptr);
      list->write(outputs.data(), {&scale, &coefficient, limit}, {.found_inf = &found_inf}, nullptr);
      CHECK(found_inf == 1.0f);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < written.size(); ++i) wrong += !(written[i] == expected[i]);
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("outputs too large for the cache are written as small ones are") {
  Array array(Dtype::f32, (std::uint64_t{17} << 20) + 5);
  for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, bits_of(static_cast<float>(i % 9973)));
  const Tensor tensor = array.tensor();
  const float scale = 0.25f;
  for (const auto set : available_sets()) {
    for (const Dtype to : {Dtype::f32, Dtype::f16}) {
      INFO(cpu::name_of(set) << " to " << name_of(to));
      cpu::CpuBackend backend(2, set);
      const auto list = backend.make_list();
      Array written(to, array.count());
      Tensor output = written.tensor();
      list->assign(&tensor, 1, nullptr);
      list->write(&output, {.inverse_scale = &scale}, {}, nullptr);
      std::uint64_t wrong = 0;
      for (std::uint64_t i = 0; i < array.count(); ++i) {
        wrong += written.get(i) != encode(to, static_cast<float>(i % 9973) * scale);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("sums of squares neither overflow nor lose small gradients among many") {
  Array array(Dtype::f32, 100000);
  for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, bits_of(i % 2 == 0 ? 3e38f : 1e-30f));
  Array tiny(Dtype::bf16, 100000);
  for (std::uint64_t i = 0; i < tiny.count(); ++i) tiny.set(i, 1);  // 2^-133
  const Tensor tensors[] = {array.tensor(), tiny.tensor()};
  cpu::CpuBackend backend(1);
  const auto list = backend.make_list();
  Statistics each[2];
  list->assign(tensors, 2, nullptr);
  list->observe({.each = each}, nullptr);
  const double large = static_cast<double>(3e38f);
  CHECK(each[0].sum_of_squares == Approx(50000 * large * large).epsilon(1e-12));
  CHECK(each[1].sum_of_squares == 100000 * 0x1p-266);
}

TEST_CASE("finite values are counted in the pass, as they were before it wrote over them") {
  std::mt19937_64 random(33);
  std::vector<Array> arrays = random_arrays(random, 4, true);
  const float inverse_scale = 0x1p-9f;
  std::vector<FiniteValues> first;
  for (const auto set : available_sets()) {
    for (const unsigned threads : {1u, 3u}) {
      INFO(cpu::name_of(set) << ", " << threads << " threads");
      std::vector<Array> copies = arrays;
      const std::vector<Tensor> tensors = tensors_of(copies);
      cpu::CpuBackend backend(threads, set);
      const auto list = backend.make_list();
      list->assign(tensors.data(), tensors.size(), nullptr);
      std::vector<Statistics> each(arrays.size(), stale);
      std::vector<FiniteValues> finite(arrays.size(), FiniteValues{5, 6, 7, 8});
      list->unscale(&inverse_scale, {.each = each.data(), .finite = finite.data()}, nullptr);
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        INFO("tensor " << i << ": " << arrays[i].count() << " " << name_of(arrays[i].dtype()));
        FiniteValues expected;
        for (std::uint64_t k = 0; k < arrays[i].count(); ++k) {
          const double value = std::fabs(decode(arrays[i].dtype(), arrays[i].get(k)));
          if (std::isnan(value)) ++expected.nans;
          if (std::isinf(value)) ++expected.infinities;
          if (!std::isfinite(value)) continue;
          expected.max_abs = std::max(expected.max_abs, value);
          expected.sum_of_squares += value * value;
        }
        CHECK(finite[i].nans == expected.nans);
        CHECK(finite[i].infinities == expected.infinities);
        CHECK(finite[i].max_abs == expected.max_abs);
        if (std::isfinite(expected.sum_of_squares)) {
          CHECK(finite[i].sum_of_squares == Approx(expected.sum_of_squares).epsilon(1e-5));
        } else {
          CHECK(finite[i].sum_of_squares == expected.sum_of_squares);
        }
        CHECK(std::isfinite(each[i].max_abs) == (expected.nans + expected.infinities == 0));
        if (!first.empty()) CHECK(bits_of(finite[i].sum_of_squares) == bits_of(first[i].sum_of_squares));
      }
      first = finite;
      list->unscale(&inverse_scale, {.each = each.data()}, nullptr);  // no longer asked for: written nowhere
      CHECK(std::ranges::equal(finite, first, {}, &FiniteValues::sum_of_squares, &FiniteValues::sum_of_squares));
    }
  }
}

TEST_CASE("totals of several lists are merged, found_inf is set and never cleared") {
  float finite_values[] = {1, -2, 0};
  float infinite_values[] = {INFINITY, 0};
  const Tensor finite = {finite_values, 3, Dtype::f32, 0};
  const Tensor infinite = {infinite_values, 2, Dtype::f32, 0};
  cpu::CpuBackend backend(1);
  const auto first = backend.make_list();
  const auto second = backend.make_list();
  first->assign(&finite, 1, nullptr);
  second->assign(&infinite, 1, nullptr);
  float found_inf = 0;
  Statistics total;
  const Findings findings = {.found_inf = &found_inf, .total = &total, .threshold = 1.5};
  first->observe(findings, nullptr);
  CHECK(found_inf == 0);
  CHECK(total.sum_of_squares == 5);
  CHECK(total.max_abs == 2);
  CHECK(total.zeros == 1);
  CHECK(total.below == 1);
  second->observe(findings, nullptr);
  first->observe(findings, nullptr);
  CHECK(found_inf == 1);
  CHECK(total.max_abs == INFINITY);
  CHECK(total.count == 8);
  CHECK(total.zeros == 3);
  CHECK(total.below == 2);
}

TEST_CASE("an empty list and empty tensors are observed and unscaled to nothing") {
  cpu::CpuBackend backend(2);
  const auto list = backend.make_list();
  float found_inf = 0;
  Statistics total;
  const float scale = 0.5f;
  list->observe({.found_inf = &found_inf, .total = &total}, nullptr);
  const Tensor empty[] = {{nullptr, 0, Dtype::f32, 0}, {nullptr, 0, Dtype::bf16, 0}};
  Statistics each[] = {stale, stale};
  list->assign(empty, 2, nullptr);
  list->unscale(&scale, {&found_inf, &total, each, 1.0}, nullptr);
  CHECK(found_inf == 0);
  CHECK(same(total, Statistics()));
  CHECK(same(each[0], Statistics()));
  CHECK(same(each[1], Statistics()));
}

TEST_CASE("thousands of tiny tensors are observed one by one and added up as documented") {
  std::mt19937_64 random(9);
  std::vector<Array> arrays;
  std::vector<Statistics> expected;
  Reference together(1e-3);
  for (int i = 0; i < 3000; ++i) {
    fill(arrays.emplace_back(all[random() % 4], random() % 10), random, i % 7 == 0);
    expected.push_back(statistics_of(arrays.back(), 1e-3));
    together.add(arrays.back());
  }
  const std::vector<Tensor> tensors = tensors_of(arrays);
  for (const auto set : available_sets()) {
    cpu::CpuBackend backend(2, set);
    const auto list = backend.make_list();
    list->assign(tensors.data(), tensors.size(), nullptr);
    Statistics total;
    std::vector<Statistics> each(tensors.size(), stale);
    list->observe({.total = &total, .each = each.data(), .threshold = 1e-3}, nullptr);
    CHECK(same(total, together.statistics()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < each.size(); ++i) wrong += !same(each[i], expected[i]);
    CHECK(wrong == 0);
  }
}

TEST_CASE("tensors of a few elements are unscaled in place and into outputs, element by element") {
  std::mt19937_64 random(11);
  for (const auto set : available_sets()) {
    for (const float scale : {1.0f / 3, INFINITY}) {
      std::vector<Array> arrays;
      for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16}) {
        for (std::uint64_t count = 0; count < 40; ++count)
          fill(arrays.emplace_back(dtype, count, count), random, false);
      }
      std::vector<Array> expected = arrays;
      for (Array& array : expected) {
        for (std::uint64_t i = 0; i < array.count(); ++i) {
          array.set(i, transform(array.dtype(), array.get(i), array.dtype(), scale, 1.0f, INFINITY));
        }
      }
      std::vector<Array> outputs;
      for (const Array& array : arrays) outputs.emplace_back(array.dtype(), array.count(), array.count());
      cpu::CpuBackend backend(1, set);
      const auto list = backend.make_list();
      const std::vector<Tensor> tensors = tensors_of(arrays);
      list->assign(tensors.data(), tensors.size(), nullptr);
      list->write(tensors_of(outputs).data(), {.inverse_scale = &scale}, {}, nullptr);
      list->unscale(&scale, {}, nullptr);
      INFO(cpu::name_of(set) << ", scale " << scale);
      CHECK((outputs == expected));
      CHECK((arrays == expected));
    }
  }
}

TEST_CASE("thousands of tiny tensors, larger ones among them, are unscaled in place with the statistics of each") {
  std::mt19937_64 random(12);
  const float scale = 1.0f / 3;
  std::vector<Array> arrays;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t tiny = i < 127 ? 1 + random() % 8 : i < 2990 ? random() % 9 : 0;
    const std::uint64_t count = i % 200 == 127 ? 70000 : tiny;
    fill(arrays.emplace_back(all[i / 500 % 4], count), random, i % 7 == 0);
  }
  Reference together(1e-3);
  std::vector<Statistics> expected;
  std::vector<Array> unscaled = arrays;
  for (Array& array : unscaled) {
    expected.push_back(statistics_of(array, 1e-3));
    together.add(array);
    for (std::uint64_t i = 0; i < array.count(); ++i) {
      array.set(i, transform(array.dtype(), array.get(i), array.dtype(), scale, 1.0f, INFINITY));
    }
  }
  for (const auto set : available_sets()) {
    for (const unsigned threads : {1u, 2u}) {
      INFO(cpu::name_of(set) << ", " << threads << " threads");
      std::vector<Array> changed = arrays;
      const std::vector<Tensor> tensors = tensors_of(changed);
      cpu::CpuBackend backend(threads, set);
      const auto list = backend.make_list();
      list->assign(tensors.data(), tensors.size(), nullptr);
      for (const bool writes : {false, true}) {
        Statistics total;
        std::vector<Statistics> each(tensors.size(), stale);
        const Findings findings = {.total = &total, .each = each.data(), .threshold = 1e-3};
        writes ? list->unscale(&scale, findings, nullptr) : list->observe(findings, nullptr);
        CHECK(same(total, together.statistics()));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < each.size(); ++i) wrong += !same(each[i], expected[i]);
        CHECK(wrong == 0);
        CHECK((changed == (writes ? unscaled : arrays)));
      }
    }
  }
}

TEST_CASE("of tiny tensors some are written in place, others into outputs or as another dtype") {
  std::mt19937_64 random(13);
  const float scale = 1.0f / 3;
  std::vector<Array> arrays, elsewhere;
  for (int i = 0; i < 200; ++i) {
    fill(arrays.emplace_back(Dtype::f32, 1 + random() % 8), random, false);
    elsewhere.emplace_back(i % 10 == 3 ? Dtype::bf16 : Dtype::f32, arrays.back().count());
  }
  for (const auto set : available_sets()) {
    std::vector<Array> inputs = arrays, outputs = elsewhere;
    const std::vector<Tensor> tensors = tensors_of(inputs);
    std::vector<Tensor> written = tensors_of(outputs);
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (i % 5 != 3) written[i] = tensors[i];
    }
    cpu::CpuBackend backend(1, set);
    const auto list = backend.make_list();
    list->assign(tensors.data(), tensors.size(), nullptr);
    list->write(written.data(), {.inverse_scale = &scale}, {}, nullptr);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < written.size(); ++i) {
      const bool moved = i % 5 == 3;
      const Array& output = moved ? outputs[i] : inputs[i];
      for (std::uint64_t j = 0; j < output.count(); ++j) {
        const std::uint64_t from = arrays[i].get(j);
        wrong += output.get(j) != transform(Dtype::f32, from, output.dtype(), scale, 1.0f, INFINITY);
        wrong += moved && inputs[i].get(j) != from;
      }
    }
    INFO(cpu::name_of(set));
    CHECK(wrong == 0);
  }
}

TEST_CASE("the greatest values of 8 and 16 bits that are added up in float do not overflow there") {
  for (const auto& [dtype, bits] : {std::pair{Dtype::bf16, 0x5d7fu},  // the last below 2^60
                                    {Dtype::f16, 0x7bffu},
                                    {Dtype::f8_e4m3fn, 0x7eu},
                                    {Dtype::f8_e5m2, 0x7bu}}) {
    Array array(dtype, 131072);
    for (std::uint64_t i = 0; i < array.count(); ++i) array.set(i, bits);
    const Tensor tensor = array.tensor();
    const double value = decode(dtype, bits);
    for (const auto set : available_sets()) {
      INFO(cpu::name_of(set) << " " << name_of(dtype));
      cpu::CpuBackend backend(1, set);
      const auto list = backend.make_list();
      list->assign(&tensor, 1, nullptr);
      Statistics total;
      list->observe({.total = &total}, nullptr);
      CHECK(total.sum_of_squares == Approx(131072 * value * value).epsilon(0x1p-16));
    }
  }
}

TEST_CASE("8 and 16 bits of every magnitude are added up as documented, with the roundings of that order alone") {
  std::mt19937_64 random(10);
  struct Values {
    Dtype dtype;
    double below;
  };
  constexpr double any = INFINITY;
  for (const auto& [dtype, below] : {Values{Dtype::f8_e4m3fn, any},
                                     {Dtype::f8_e4m3fn, 0x1p-6},
                                     {Dtype::f8_e5m2, any},
                                     {Dtype::f8_e5m2, 0x1p-14},
                                     {Dtype::f16, any},
                                     {Dtype::bf16, any},
                                     {Dtype::bf16, 0x1p60},
                                     {Dtype::bf16, 0x1p61},
                                     {Dtype::bf16, 0x1p-62},
                                     {Dtype::bf16, 0x1p-63},
                                     {Dtype::bf16, 0x1p-47}}) {
    const std::uint64_t patterns = pattern_of_threshold(dtype, below);
    for (const std::uint64_t count : {9u, 32u, 33u, 511u, 512u, 2047u, 2048u, 2081u, 32768u, 131072u, 200003u}) {
      Array array(dtype, count, random() % 17);
      double in_one_chain = 0;
      for (std::uint64_t i = 0; i < count; ++i) {
        array.set(i, random() % patterns | random() % 2 << (8 * array.size() - 1));
        in_one_chain += decode(dtype, array.get(i)) * decode(dtype, array.get(i));
      }
      const Tensor tensor = array.tensor();
      for (const double threshold : {0.0, 1.0}) {
        const Statistics expected = statistics_of(array, threshold);
        if (dtype == Dtype::f8_e5m2 && below == any && count > 100000) {
          REQUIRE(expected.sum_of_squares != in_one_chain);
        }
        if (array.size() == 1 && below != any) CHECK(expected.sum_of_squares == in_one_chain);  // denormals are exact
        CHECK(std::fabs(expected.sum_of_squares - in_one_chain) <= in_one_chain * 0x1p-18);
        for (const auto set : available_sets()) {
          for (const unsigned threads : {1u, 2u, 3u}) {
            INFO(cpu::name_of(set) << " " << name_of(dtype) << ", " << count << ", " << threads << " threads");
            cpu::CpuBackend backend(threads, set);
            const auto list = backend.make_list();
            list->assign(&tensor, 1, nullptr);
            Statistics total;
            list->observe({.total = &total, .threshold = threshold}, nullptr);
            CHECK(same(total, expected));
          }
        }
      }
    }
  }
}

TEST_CASE("infinities alone make the maximum and the sum infinite") {
  for (const auto set : available_sets()) {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f8_e5m2}) {
      for (const std::uint64_t count : {5000u, 131072u}) {
        INFO(cpu::name_of(set) << " " << name_of(dtype) << ", " << count);
        Array array(dtype, count);
        for (const std::uint64_t at : {count - 1, count / 4}) {
          array.set(at, pattern_of_threshold(dtype, INFINITY));
          const Tensor tensor = array.tensor();
          cpu::CpuBackend backend(1, set);
          const auto list = backend.make_list();
          list->assign(&tensor, 1, nullptr);
          Statistics total;
          list->observe({.total = &total}, nullptr);
          CHECK(same(total, statistics_of(array, 0)));
          CHECK(total.sum_of_squares == INFINITY);
        }
      }
    }
  }
}
