// Quantizers on cuda:0: TransformerEngine's bytes, and lists of any shape and address beside the CPU's.
#include "lib/scaler/quantizer.hpp"

#include "tests/gpu/graph.hpp"
#include "tests/places.hpp"
#include "tests/quantizer_vectors.hpp"

using namespace tare;
using namespace tare::kernels::test;
using quantizer_vectors::Bytes;
using HostMatrix = quantizer_vectors::Matrix;

namespace {

constexpr const char* recipes[] = {"current", "delayed", "mxfp8", "blockwise_1d", "blockwise_2d", "nvfp4"};

/// A copy on the GPU of a matrix in host memory, each part `shift` bytes or elements behind where it might lie best.
class GpuMatrix {
 public:
  explicit GpuMatrix(const HostMatrix& host, std::size_t shift = 0)
      : host_(host),
        values_(host.values, shift * (host.dtype == 1 ? 4 : 2)),
        rowwise_(host.rowwise, shift),
        rowwise_scales_(host.rowwise_scales, shift * 4),
        columnwise_(host.columnwise, shift),
        columnwise_scales_(host.columnwise_scales, shift * 4),
        amax_(bytes_of(host.amax), 0),
        scale_(bytes_of(host.scale), 0) {}

  kernels::fp8::Matrix described() const {
    return {.struct_size = sizeof(kernels::fp8::Matrix),
            .values = values_.data(),
            .rows = host_.rows,
            .columns = host_.columns,
            .dtype = static_cast<Dtype>(host_.dtype),
            .reserved = 0,
            .rowwise = {rowwise_.data(), rowwise_scales_.data(), 0, 0},
            .columnwise = {columnwise_.data(), columnwise_scales_.data(), 0, 0},
            .amax = static_cast<float*>(amax_.data()),
            .scale = static_cast<float*>(scale_.data())};
  }
  /// All of it as it is on the GPU now.
  void read(HostMatrix& into) const {
    into.values = values_.read();
    into.rowwise = rowwise_.read();
    into.rowwise_scales = rowwise_scales_.read();
    into.columnwise = columnwise_.read();
    into.columnwise_scales = columnwise_scales_.read();
    std::memcpy(&into.amax, amax_.read().data(), sizeof into.amax);
    std::memcpy(&into.scale, scale_.read().data(), sizeof into.scale);
  }

 private:
  class Part {
   public:
    Part(const Bytes& bytes, std::size_t shift) : bytes_(bytes.size() + shift), size_(bytes.size()), shift_(shift) {
      if (size_ > 0) upload(data(), bytes.data(), size_);
    }
    void* data() const { return bytes_.data() + shift_; }
    Bytes read() const {
      Bytes bytes(size_);
      if (size_ > 0) must(cudaMemcpy(bytes.data(), data(), size_, cudaMemcpyDeviceToHost));
      return bytes;
    }

   private:
    GpuBytes bytes_;
    std::size_t size_;
    std::size_t shift_;
  };

  static Bytes bytes_of(float value) {
    Bytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }

  const HostMatrix& host_;
  Part values_, rowwise_, rowwise_scales_, columnwise_, columnwise_scales_, amax_, scale_;
};

Quantizer quantizer_of(std::string config, const char* device) {
  config.insert(1, std::string(R"("device":")") + device + "\",");
  return Quantizer(parse_quantizer_config(config.c_str()));
}

kernels::fp8::Matrix on_host(HostMatrix& matrix) {
  return {.struct_size = sizeof(kernels::fp8::Matrix),
          .values = matrix.values.data(),
          .rows = matrix.rows,
          .columns = matrix.columns,
          .dtype = static_cast<Dtype>(matrix.dtype),
          .reserved = 0,
          .rowwise = {matrix.rowwise.data(), matrix.rowwise_scales.data(), 0, 0},
          .columnwise = {matrix.columnwise.data(), matrix.columnwise_scales.data(), 0, 0},
          .amax = &matrix.amax,
          .scale = &matrix.scale};
}

class OnGpu final : public quantizer_vectors::Subject {
 public:
  void quantise(const std::string& config, HostMatrix& matrix) override {
    const GpuMatrix gpu(matrix);
    const kernels::fp8::Matrix given = gpu.described();
    quantizer_of(config, "cuda:0").quantise({&given, 1}, stream_);
    stream_.wait();
    gpu.read(matrix);
  }
  Bytes values_of_rows(const std::string& config, HostMatrix& matrix) override {
    return values_of(config, matrix, &kernels::fp8::Matrix::columnwise);
  }
  Bytes values_of_columns(const std::string& config, HostMatrix& matrix) override {
    return values_of(config, matrix, &kernels::fp8::Matrix::rowwise);
  }

 private:
  Bytes values_of(const std::string& config, const HostMatrix& matrix,
                  kernels::fp8::Side kernels::fp8::Matrix::*without) {
    const GpuMatrix gpu(matrix);
    kernels::fp8::Matrix given = gpu.described();
    given.*without = {};
    quantizer_of(config, "cuda:0").dequantise({&given, 1}, stream_);
    stream_.wait();
    HostMatrix back = matrix;
    gpu.read(back);
    return back.values;
  }

  GpuStream stream_;
};

bool same(const HostMatrix& a, const HostMatrix& b) {
  return a.rowwise == b.rowwise && a.rowwise_scales == b.rowwise_scales && a.columnwise == b.columnwise &&
         a.columnwise_scales == b.columnwise_scales && a.amax == b.amax && a.scale == b.scale && a.values == b.values;
}

HostMatrix random_matrix(std::mt19937_64& random, const std::string& recipe, std::uint64_t most) {
  HostMatrix matrix;
  matrix.rows = random() % most;
  matrix.columns = random() % most;
  if (recipe == "nvfp4") matrix.rows = (matrix.rows + 1) / 2 * 2, matrix.columns = (matrix.columns + 1) / 2 * 2;
  constexpr std::int32_t dtypes[] = {1, 3, 4};
  matrix.dtype = dtypes[random() % 3];
  matrix.values = quantizer_vectors::values_of(random() % 1000, matrix.rows, matrix.columns, matrix.dtype,
                                               random() % 2 == 0 ? 0 : 1 + random() % 9);
  matrix.amax = static_cast<float>(random() % 2);
  matrix.scale = 1.5f;
  quantizer_vectors::make_room(recipe, matrix);
  return matrix;
}

/// How many of a list of matrices of any shape and address come out otherwise than on the CPU, or back.
std::size_t differing_of_list(const std::string& recipe, const std::string& config, std::mt19937_64& random) {
  const GpuStream stream;
  Quantizer device = quantizer_of(config, "cuda:0");
  Quantizer host = quantizer_of(config, "cpu");
  std::vector<HostMatrix> matrices;
  std::vector<std::unique_ptr<GpuMatrix>> gpu;
  std::vector<kernels::fp8::Matrix> on_gpu, on_cpu;
  for (std::size_t i = 0; i < (sample() == 1 ? 140 : 12); ++i) {  // more than a launch takes
    matrices.push_back(random_matrix(random, recipe, i % 10 == 0 ? 300 : 40));
  }
  for (HostMatrix& matrix : matrices) {
    gpu.push_back(std::make_unique<GpuMatrix>(matrix, random() % 3));
    on_gpu.push_back(gpu.back()->described());
    on_cpu.push_back(on_host(matrix));
  }
  for (int round = 0; round < 2; ++round) {  // what is kept between launches is as it was
    device.quantise(on_gpu, stream);
    host.quantise(on_cpu, nullptr);
  }
  device.dequantise(on_gpu, stream);
  host.dequantise(on_cpu, nullptr);
  for (kernels::fp8::Matrix& matrix : on_gpu) matrix.rowwise = {};
  device.dequantise(on_gpu, stream);
  stream.wait();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    HostMatrix have = matrices[i];
    for (kernels::fp8::Matrix* from_columns : {&on_cpu[i]}) from_columns->rowwise = {};
    host.dequantise({&on_cpu[i], 1}, nullptr);
    gpu[i]->read(have);
    wrong += !same(have, matrices[i]);
  }
  return wrong;
}

}  // namespace

TEST_CASE("every matrix that is quantised on the GPU has TransformerEngine's bytes and scales") {
  OnGpu gpu;
  for (const std::string recipe : recipes) {
    INFO(recipe);
    const auto tally = quantizer_vectors::run(TARE_TEST_SOURCE "/vectors", recipe, gpu);
    for (const std::string& difference : tally.differences) UNSCOPED_INFO(difference);
    CHECK(tally.differences.empty());
    CHECK(tally.cases >= 15);
  }
}

TEST_CASE("a list of matrices of any shape and address is quantised on the GPU as on the CPU, and back") {
  std::mt19937_64 random(11);
  for (const std::string recipe : recipes) {
    for (const std::string format : {"e4m3", "e5m2"}) {
      if (recipe == "nvfp4" && format == "e5m2") continue;
      const std::string config =
          recipe == "nvfp4" ? R"({"recipe":"nvfp4"})" : R"({"recipe":")" + recipe + R"(","format":")" + format + "\"}";
      INFO(config);
      CHECK(differing_of_list(recipe, config, random) == 0);
    }
  }
}

TEST_CASE("a captured quantizer looks at what lies there at each replay") {
  for (const std::string recipe : {"current", "nvfp4", "mxfp8"}) {
    INFO(recipe);
    const std::string config = R"({"recipe":")" + recipe + "\"}";
    Quantizer device = quantizer_of(config, "cuda:0");
    std::mt19937_64 random(12);
    HostMatrix before = random_matrix(random, recipe, 2);
    before.rows = 34;
    before.columns = 130;
    before.dtype = 4;
    before.values = quantizer_vectors::values_of(1, before.rows, before.columns, before.dtype, 0);
    quantizer_vectors::make_room(recipe, before);
    const GpuMatrix gpu(before);
    const kernels::fp8::Matrix given = gpu.described();
    const GpuStream stream;
    const Graph graph(stream, [&] { device.quantise({&given, 1}, stream); });
    CHECK(graph.nodes() == (recipe == "mxfp8" ? 1 : 2));
    HostMatrix other = before;
    other.values = quantizer_vectors::values_of(2, before.rows, before.columns, before.dtype, 0);
    upload(given.values, other.values.data(), other.values.size());
    graph.replay(stream);
    stream.wait();
    HostMatrix have = other;
    gpu.read(have);
    const kernels::fp8::Matrix expected = on_host(other);
    quantizer_of(config, "cpu").quantise({&expected, 1}, nullptr);
    CHECK(same(have, other));
  }
}

TEST_CASE("memory that the GPU cannot reach is named, and nothing is launched") {
  Quantizer device = quantizer_of(R"({"recipe":"current"})", "cuda:0");
  std::mt19937_64 random(13);
  HostMatrix host = random_matrix(random, "current", 2);
  host.rows = host.columns = 4;
  host.values = quantizer_vectors::values_of(1, 4, 4, host.dtype, 0);
  quantizer_vectors::make_room("current", host);
  const GpuMatrix gpu(host);
  kernels::fp8::Matrix given = gpu.described();
  given.columnwise.data = host.columnwise.data();
  const GpuStream stream;
  try {
    device.quantise({&given, 1}, stream);
    FAIL("host memory was taken");
  } catch (const std::exception& error) {
    CHECK(std::string(error.what()).find("columnwise data of matrix 0") != std::string::npos);
  }
  stream.wait();
  HostMatrix have = host;
  gpu.read(have);
  CHECK(have.rowwise == host.rowwise);
}
