// Paddle's files: pickles with calls of eval in them, and a file a variable.

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/container/paddle/variables.hpp"
#include "tests/catch.hpp"
#include "tests/unit/container/image.hpp"
#include "tests/unit/container/protobuf_writer.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

bool tells(const Container& container, std::string_view code) {
  const auto& findings = container.findings();
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
}

/// builtins.eval called with what stands on the stack as a tuple, in a dict under "x".
std::string call_of_eval(std::string_view arguments) {
  return "\x80\x02}X\1\0\0\0xcbuiltins\neval\n"s + std::string(arguments) + "Rs.";
}

constexpr std::string_view array =
    "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\1b\x87R"
    "(K\1K\1\x85"
    "cnumpy\ndtype\nX\2\0\0\0f4\x89\x88\x87R(K\3X\1\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    "\x89U\4\0\0\x80?tb"sv;

/// ('data', {'data': array})
std::string arguments_of(std::string_view expression, std::string_view name) {
  return "X\4\0\0\0"s + std::string(expression) + "}X\4\0\0\0"s + std::string(name) + std::string(array) + "s\x86";
}

std::string variable(std::string_view description, std::string_view elements) {
  return std::string(16, '\0') + static_cast<char>(description.size()) + "\0\0\0"s + std::string(description) +
         std::string(elements);
}

std::string problem_of(std::string_view bytes) {
  try {
    static_cast<void>(open_paddle_variable(std::make_shared<const MemorySource>("file", bytes_of(bytes))));
  } catch (const Error& error) {
    CHECK(error.status == Status::corrupt);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("Paddle's eval of an array is that array as a tensor, and nothing to be warned of") {
  const auto container = open_corpus("paddle/static_amp_state_dict/state.pdparams");
  const NodeId scale = node_at(container->tree(), {"program", "loss_scaling_0"});
  CHECK(container->tree().value(scale, 1).type == "tensor:float32[1]");
  CHECK(container->tree().value(scale, 1).as_double() == 1024.0);
  CHECK_FALSE(tells(*container, "dangerous-global"));
}

TEST_CASE("an eval of anything else is opaque, and told") {
  const auto sound = open_image(bytes_of(call_of_eval(arguments_of("data", "data"))));
  CHECK(sound->tree().kind(node_at(sound->tree(), {"x"})) == Kind::array);
  CHECK_FALSE(tells(*sound, "dangerous-global"));
  for (const std::string& arguments :
       {arguments_of("exit", "data"), arguments_of("data", "exit"), "X\4\0\0\0data\x85"s, ")"s,
        "X\4\0\0\0data}X\4\0\0\0dataK\1s\x86"s, "X\4\0\0\0data}X\4\0\0\0data"s + std::string(array) + "sN\x87"}) {
    const auto container = open_image(bytes_of(call_of_eval(arguments)));
    CHECK(container->tree().kind(node_at(container->tree(), {"x"})) == Kind::opaque);
    CHECK(tells(*container, "dangerous-global"));
  }
  // One sound call does not vouch for eval handed to something else.
  const std::string both = "\x80\x02(cbuiltins\neval\n"s + arguments_of("data", "data") + "R" +
                           "cbuiltins\nmap\ncbuiltins\neval\nX\1\0\0\0"s + "1\x86Rl.";
  CHECK(tells(*open_image(bytes_of(both)), "dangerous-global"));
}

TEST_CASE("a value of protocol 2 that needs another number of bytes moves what stands behind it") {
  const Bytes image = corpus_bytes("paddle/train_state_protocol2/epoch_2.pd");
  for (const double value : {4096.0, 1.0e30, 90.5, 3.0e-5}) {
    const auto container = open_image(image);
    const NodeChange change{node_at(container->tree(), {"scaler", "scale"}), value, "scale"};
    const auto after = open_image(applied(image, container->change({&change, 1})));
    const NodeId scale = node_at(after->tree(), {"scaler", "scale"});
    CHECK(after->tree().value(scale, 1).as_double() == static_cast<double>(static_cast<float>(value)));
  }
}

TEST_CASE("a variable's file is a tensor without a name") {
  const auto container = open_corpus("paddle/static_amp_save_vars/persistables/linear_0.w_0");
  CHECK(container->format() == "paddle_lod_tensor");
  CHECK(container->tree().tensor(container->tree().root).type_text() == "tensor:float32[4,2]");
  CHECK(container->parts().empty());
}

TEST_CASE("a variable's file that is not what it says is refused") {
  const std::string scalar = number_field(1, 5) + number_field(2, 1);
  REQUIRE(problem_of(variable(scalar, "1234")).empty());
  CHECK_THAT(problem_of(variable(scalar, "123")), Catch::Contains("3 bytes are not what tensor:float32[1] takes"));
  CHECK_THAT(problem_of(variable(scalar, "12345678")), Catch::Contains("8 bytes are not what"));
  CHECK_THAT(problem_of(variable(number_field(1, 99) + number_field(2, 1), "1234")), Catch::Contains("a type"));
  CHECK_THAT(problem_of(variable(number_field(1, 5) + number_field(2, ~std::uint64_t{0}), "1234")),
             Catch::Contains("cannot be"));
  CHECK_THAT(problem_of(variable(scalar + "\x12", "")), Catch::Contains("protobuf"));
  CHECK_THAT(problem_of(variable(scalar, "1234").substr(0, 18)), Catch::Contains("ends too soon"));
  CHECK_THAT(problem_of(variable(scalar, "").substr(0, 22)), Catch::Contains("a description of 4 bytes"));
  std::string levels = variable(scalar, "1234");
  levels[4] = '\1';
  CHECK_THAT(problem_of(levels), Catch::Contains("bytes, where"));
  levels[4] = '\x7f';
  CHECK_THAT(problem_of(levels), Catch::Contains("127 levels"));
}
