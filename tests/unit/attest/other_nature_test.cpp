// Files that are a tar or a zip as well, however their numbers are written and whatever stands behind them.
#include <filesystem>
#include <fstream>

#include "lib/attest/tar_checksum.hpp"
#include "lib/attest/zip_at_end.hpp"
#include "lib/container/zstd_frame.hpp"
#include "tests/unit/attest/told.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;
namespace fs = std::filesystem;

namespace {

const std::string call = "\x80\2"s + "cos\nsystem\n(Vls\ntR.";

/// A block whose bytes sum up to 01463, with this in place of that; high bytes make the sum another one when signed.
std::string block(const std::string& checksum, const std::string& name = "storages") {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(156, 1, "0");
  return header.replace(148, 8, (checksum + "        ").substr(0, 8));
}

/// What Python's tarfile would write of a block of that name: the sum of its bytes.
int sum_of(const std::string& name) {
  int sum = 8 * ' ' + '0';
  for (const char c : name) sum += static_cast<unsigned char>(c);
  return sum;
}

std::string octal(int number) {
  char digits[12];
  std::snprintf(digits, sizeof digits, "%o", static_cast<unsigned>(number));
  return digits;
}

bool is_tar(const std::string& bytes) {
  return begins_as_tar(*std::make_shared<MemorySource>("x", bytes_of(bytes)));
}

std::string zip_of(const std::string& name, const std::string& member) {
  ArchiveWriter zip;
  zip.add(name, bytes_of(member));
  zip.finish();
  return std::string(as_text(zip.bytes()));
}

/// A row of bytes of that many elements, as safetensors and as NumPy keep one.
std::string in_safetensors(const std::string& data) {
  const std::string size = std::to_string(data.size());
  std::string header = R"({"w":{"dtype":"U8","shape":[1,)" + size + R"(],"data_offsets":[0,)" + size + "]}}";
  header.append((8 - header.size() % 8) % 8, ' ');
  return static_cast<char>(header.size()) + "\0\0\0\0\0\0\0"s + header + data;
}
std::string in_npy(const std::string& data) {
  std::string header = "\x93NUMPY\1\0\x76\0{'descr': '|u1', 'fortran_order': False, 'shape': (1, "s +
                       std::to_string(data.size()) + "), }";
  return header.append(127 - header.size(), ' ') + "\n" + data;
}

}  // namespace

TEST_CASE("a tar's checksum is right in every way in which Python's tarfile reads a number") {
  const int sum = sum_of("storages");
  const std::string digits = octal(sum);
  const std::string base_256 = "\x80\0\0\0\0\0"s + static_cast<char>(sum >> 8) + static_cast<char>(sum);
  for (const std::string& written :
       {digits, "0" + digits, digits + "\0 "s, "  " + digits, "\t\n" + digits, "\x1c" + digits, digits + "\v\f",
        "0o" + digits, "0O" + digits, "0o_" + digits, "+" + digits, "+0o" + digits,
        digits.substr(0, 2) + "_" + digits.substr(2), digits + "\0xyz"s, base_256}) {
    INFO(written);
    CHECK(is_tar(block(written)));
  }
  for (const std::string& written :
       {"0o" + octal(sum + 1), "_" + digits, digits + "_", digits + "x", "+ " + digits, "0o__" + digits, "-" + digits,
        "0x" + digits, digits.substr(0, 2) + "__" + digits.substr(2), ""s, "\0"s + digits, digits + "\xff"}) {
    INFO(written);
    CHECK(!is_tar(block(written)));
  }
  CHECK(!is_tar(block(digits).substr(0, 511)));
  CHECK(!is_tar(std::string(512, '\0')));
}

TEST_CASE("a tar's checksum may be that of signed bytes: below nothing, or nothing at all") {
  const auto signed_sum = [](const std::string& name) { return sum_of(name) - 256 * static_cast<int>(name.size()); };
  const std::string below = std::string(3, '\x80');
  REQUIRE(signed_sum(below) == -80);
  CHECK(is_tar(block("-" + octal(80), below)));
  CHECK(is_tar(block("-0o" + octal(80), below)));
  CHECK(is_tar(block("\xff\xff\xff\xff\xff\xff\xff\xb0", below)));
  const std::string zero = "\x80\x80" + std::string(1, static_cast<char>(-48));
  REQUIRE(signed_sum(zero) == 0);
  CHECK(is_tar(block("", zero)));
  CHECK(is_tar(block("0", zero)));
  CHECK(is_tar(block(std::string(8, '\0'), zero)));
}

TEST_CASE("data that begins as a tar with such a checksum is told") {
  std::string text = "a text, and a tar";
  text.resize(148, ' ');
  std::string header = (text + "        0").append(512 - text.size() - 9, ' ');
  int sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  header.replace(148, 8, ("0o" + octal(sum) + "        ").substr(0, 8));
  CHECK(says(told(header, ".cfg"), "is a tar archive, too"));
}

TEST_CASE("a zip at the end is told in any format, whatever stands behind it, up to where Python's zipfile looks") {
  const std::string zip = zip_of("data", "{}");
  const std::string png = "\x89PNG\r\n\x1a\n";
  for (const std::string& behind :
       {""s, "\n"s, std::string(100, '\0'), "PK\5\6 is none"s, std::string(65536 - 1, '\0')}) {
    INFO(behind.size() << " bytes behind it");
    CHECK(says(told(png + zip + behind), "ends with a zip archive"));
    CHECK(says(told(in_npy(zip + behind)), "ends with a zip archive"));
    CHECK(says(told(in_safetensors(zip + behind)), "ends with a zip archive"));
  }
  CHECK(told(png + zip + std::string(65536 + 1, '\0')).empty());
  CHECK(says(told(in_safetensors(std::string(100, '\7') + zip)), "ends with a zip archive"));
}

TEST_CASE("a record of zip64 leads to a directory, too; a record that leads nowhere is data") {
  const auto ending = [](const std::string& bytes) {
    return zip_ending(*std::make_shared<MemorySource>("x", bytes_of(bytes)));
  };
  const std::string row = "PK\1\2" + std::string(42, '\0');
  const std::string end64 = "PK\6\6" + std::string(36, '\0') + "\x2e" + std::string(15, '\0');
  const std::string locator = "PK\6\7" + std::string(16, '\0');
  const std::string end = "PK\5\6" + std::string(8, '\xff') + std::string(8, '\xff') + "\0\0"s;
  REQUIRE((row + end64 + locator + end).size() == 46 + 56 + 20 + 22);
  CHECK(ending("front" + row + end64 + locator + end).is_directory);
  CHECK(ending("front" + row + end64 + locator + end + "x").is_directory);
  CHECK(!ending("front" + std::string(46, 'x') + end64 + locator + end + "x").is_directory);
  CHECK(!ending(row + end + "x").is_directory);
  CHECK(ending(row + end).is_record);
  CHECK(!ending(row + end + "x").is_record);
  CHECK(!ending("").is_record);
  for (std::size_t cut = 1; cut <= 22; ++cut) CHECK(!ending(end.substr(0, end.size() - cut)).is_record);
  CHECK(told(in_safetensors("PK\5\6" + std::string(18, '\0'))).empty());
  CHECK(told(in_safetensors(std::string(200, '\0') + "PK\5\6" + std::string(18, '\1') + "xyz")).empty());
}

TEST_CASE("HDF5 behind 512 bytes, or any doubling of them, is told in any format") {
  const std::string superblock = "\x89HDF\r\n\x1a\n" + std::string(88, '\0');
  const auto with_hdf5_at = [&](std::string bytes, std::size_t at) {
    return bytes.replace(at, superblock.size(), superblock);
  };
  const std::string zeros(std::size_t{1} << 17, '\0');
  for (const std::string& image :
       {in_npy(zeros), in_safetensors(zeros), "\x89PNG\r\n\x1a\n" + zeros, "\x80\3B\0\0\2\0"s + zeros + "."}) {
    for (std::size_t at = 512; at < zeros.size(); at *= 2) {
      INFO("at " << at);
      CHECK(says(told(with_hdf5_at(image, at)), "is HDF5, too"));
      CHECK(!says(told(with_hdf5_at(image, at + 1)), "is HDF5, too"));
    }
  }
  const std::string archive = with_hdf5_at(zip_of("weights.npy", in_npy(zeros)), 2048);
  CHECK(says(told(archive), "is HDF5, too"));
  CHECK(says(told(with_hdf5_at(in_npy(std::string(512, '\0')), 512)), "is HDF5, too"));
}

namespace {

/// Orbax's folder, with arrays of zarr's.
class OrbaxFolder {
 public:
  OrbaxFolder() {
    fs::remove_all(path_);
    fs::copy(TARE_TEST_DATA "/corpus/flax/orbax_zarr/run/10", path_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(path_)) {
      fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
    }
    fs::permissions(path_, fs::perms::owner_write, fs::perm_options::add);
  }
  ~OrbaxFolder() { fs::remove_all(path_); }

  [[nodiscard]] bool is_plain() const { return attest(opened(path_.string()), newest_torch_release()).is_plain(); }
  /// Whether it stays so with such a file in it, which is taken away again.
  [[nodiscard]] bool is_plain_with(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const bool is_plain_so = is_plain();
    fs::remove(path_ / name);
    return is_plain_so;
  }

 private:
  fs::path path_ = fs::temp_directory_path() / ("tare-other-nature-"s + std::to_string(::getpid()));
};

}  // namespace

TEST_CASE("in an array's folder a file that is named as its chunks are is elements, and nothing else as well") {
  const OrbaxFolder folder;
  REQUIRE(folder.is_plain());
  const std::string array = "default/dynamic_scale.scale/";
  CHECK(folder.is_plain_with(array + "1", std::string(64, '\7')));
  CHECK(folder.is_plain_with(array + "1/0.2", std::string(64, '\7')));
  const std::string numbers = "c\xd2\xe4:V\xc9\xc4\nR%\x82\x39Wm\n" + std::string(64, ';');  // begin as an import does
  CHECK(folder.is_plain_with(array + "1", numbers));
  const std::string objects = "\x93NUMPY\1\0\x36\0{'descr':'|O','fortran_order':False,'shape':(1,)}   \n"s + call;
  const std::string others[] = {
      call,    zip_of("archive/data.pkl", call),        std::string(64, '\7') + zip_of("data", "{}") + "x",
      objects, block("0o" + octal(sum_of("storages"))), std::string(1024, '\7') + "\x89HDF\r\n\x1a\n"};
  for (const std::string& other : others) {
    INFO(other);
    for (const char* name : {"0", "1", "1/0.2", "c/0"}) CHECK(!folder.is_plain_with(array + name + "0", other));
  }
  const auto zstd = [](const std::string& data) { return std::string(as_text(zstd_frame(as_bytes(data), 0))); };
  CHECK(folder.is_plain_with(array + "1", zstd(std::string(1 << 20, '\7'))));
  for (const std::string& other : {call, zip_of("archive/data.pkl", call), objects}) {
    CHECK(!folder.is_plain_with(array + "1", zstd(other)));
    const std::string size =
        static_cast<char>(other.size() & 0xff) + std::string(1, static_cast<char>(other.size() >> 8));
    const std::string counter = {static_cast<char>(~size[0]), static_cast<char>(~size[1])};
    CHECK(!folder.is_plain_with(array + "1", "\x1f\x8b\x08\0\0\0\0\0\0\xff\1"s + size + counter + other));
  }
  CHECK(!folder.is_plain_with(array + "0.c", "int main() {}\n"));
}

TEST_CASE("outside the arrays' folders a name of digits makes no elements") {
  const OrbaxFolder folder;
  for (const char* name : {"0", "default/0", "default/0.0", "default/abc/0", "default/step_0.bad"}) {
    INFO(name);
    CHECK(!folder.is_plain_with(name, std::string(64, '\7')));
    CHECK(!folder.is_plain_with(name, call));
    CHECK(folder.is_plain_with(name, "words\n"));
  }
}
