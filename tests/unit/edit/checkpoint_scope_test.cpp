#include "lib/edit/checkpoint_scope.hpp"

#include "lib/transaction/undo.hpp"
#include "tests/catch.hpp"
#include "tests/unit/transaction/scene.hpp"
#include "tests/unit/transaction/scratch.hpp"

namespace tare::test {
namespace {

TEST_CASE("a file of a distributed checkpoint stands for all of it: its edits are found under every name") {
  const Scratch scratch;
  const std::string shard = scratch.write("step/__0_0.distcp", noise(500, 1));
  const std::string metadata = scratch.write("step/.metadata", noise(100, 2));
  const Bytes old = bytes_of(shard);
  edit(shard, 20, noise(8, 3));
  CHECK(history_of(checkpoint_scope(system_files(), metadata, own_key())).size() == 1);
  undo(checkpoint_scope(system_files(), metadata, own_key()));
  CHECK(bytes_of(shard) == old);
}

TEST_CASE("a TensorFlow checkpoint's edits are found under its prefix, which is no file") {
  const Scratch scratch;
  const std::string data = scratch.write("run/ckpt-7.data-00000-of-00001", noise(500, 1));
  scratch.write("run/ckpt-7.index", noise(100, 2));
  const Bytes old = bytes_of(data);
  edit(data, 20, noise(8, 3));
  CHECK(history_of(checkpoint_scope(system_files(), scratch.path("run/ckpt-7"), own_key())).size() == 1);
  undo(checkpoint_scope(system_files(), scratch.path("run/ckpt-7"), own_key()));
  CHECK(bytes_of(data) == old);
}

}  // namespace
}  // namespace tare::test
