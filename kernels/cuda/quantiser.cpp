#include "kernels/cuda/quantiser.hpp"

#include <algorithm>

#include "kernels/cuda/reach.hpp"

namespace tare::kernels::cuda {
namespace {

/// Of tiles and of chunks in a launch.
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 31;

void require_reachable(const void* data, int device, std::size_t index, const char* what) {
  if (data == nullptr) return;
  const std::string place = unreachable_place(data, device);
  if (!place.empty())
    refuse_place(std::string(what).append(" of matrix ").append(std::to_string(index)), place, device);
}

/// The largest of which each multiprocessor has one. More would cost more than they gain: each is an atomic operation,
/// and those of a matrix wait for each other.
std::uint32_t chunk_for(std::span<const fp8::Matrix> matrices, std::uint64_t multiprocessors) {
  std::uint64_t values = 0;
  for (const fp8::Matrix& matrix : matrices.first(std::min<std::size_t>(matrices.size(), most_matrices)))
    values += matrix.rows * matrix.columns;
  std::uint32_t chunk = most_chunk;
  while (chunk > least_chunk && values / chunk < multiprocessors) chunk /= 2;
  return chunk;
}

}  // namespace

DeviceQuantiser::DeviceQuantiser(int device, const fp8::Quantisation& how) : device_(device), order_(device_) {
  const OnDevice here(device);
  arguments_.how = how;
  progress_.reserve(most_matrices);
  arguments_.progress = progress_.data();
  const cudaStream_t own = device_.own_stream();
  check(cudaMemsetAsync(progress_.data(), 0, most_matrices * sizeof(MatrixProgress), own), "clear memory");
  device_.finish_own();
}

void DeviceQuantiser::require_reachable(std::span<const fp8::Matrix> matrices) const {
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    const fp8::Matrix& matrix = matrices[i];
    const auto require = [&](const void* data, const char* what) { cuda::require_reachable(data, device(), i, what); };
    if (matrix.rows > 0 && matrix.columns > 0) {
      require(matrix.values, "values");
      require(matrix.rowwise.data, "rowwise data");
      require(matrix.rowwise.scales, "rowwise scales");
      require(matrix.columnwise.data, "columnwise data");
      require(matrix.columnwise.scales, "columnwise scales");
    }
    require(matrix.amax, "amax");
    require(matrix.scale, "scale");
  }
}

std::span<const fp8::Matrix> DeviceQuantiser::fill(std::span<const fp8::Matrix> matrices) {
  std::uint32_t& count = arguments_.count;
  const std::uint32_t chunk = arguments_.chunk = chunk_for(matrices, device_.multiprocessors());
  std::uint64_t chunks = 0;
  std::uint64_t tiles = 0;
  for (count = 0; count < most_matrices && count < matrices.size(); ++count) {
    const fp8::Matrix& matrix = matrices[count];
    if (matrix.dtype != matrices[0].dtype) break;
    if (chunks + chunks_of(matrix, chunk) > most_blocks || tiles + tiles_of(matrix) > most_blocks) break;
    arguments_.matrices[count] = with_strides(arguments_.how, matrix);
    arguments_.first_chunk[count] = static_cast<std::uint32_t>(chunks);
    arguments_.first_tile[count] = static_cast<std::uint32_t>(tiles);
    chunks += chunks_of(matrix, chunk);
    tiles += tiles_of(matrix);
  }
  if (count == 0) throw Refusal(unsupported, 0, "a matrix of 2^31 tiles or more", "Cut it into several.");
  arguments_.first_chunk[count] = static_cast<std::uint32_t>(chunks);
  arguments_.first_tile[count] = static_cast<std::uint32_t>(tiles);
  return matrices.subspan(count);
}

void DeviceQuantiser::launch(Kernel kernel, std::uint32_t blocks, cudaStream_t stream) const {
  device_.launch(kernel, device_.blocks_for(kernel, blocks), threads, &arguments_, stream);
}

void DeviceQuantiser::quantise(std::span<const fp8::Matrix> matrices, cudaStream_t stream) {
  const OnDevice here(device());
  require_reachable(matrices);
  order_.take_turn(stream, [&](Capture) {
    while (!matrices.empty()) {
      matrices = fill(matrices);
      const bool looks_first = fp8::looks_first(arguments_.how.scaling);
      if (looks_first) launch(matrix_scales_kernel(), arguments_.first_chunk[arguments_.count], stream);
      launch(quantise_matrices_kernel(arguments_.how.scaling, arguments_.matrices[0].dtype),
             arguments_.first_tile[arguments_.count], stream);
    }
  });
}

void DeviceQuantiser::dequantise(std::span<const fp8::Matrix> matrices, cudaStream_t stream) {
  const OnDevice here(device());
  require_reachable(matrices);
  order_.take_turn(stream, [&](Capture) {
    while (!matrices.empty()) {
      matrices = fill(matrices);
      launch(dequantise_matrices_kernel(), arguments_.first_tile[arguments_.count], stream);
    }
  });
}

}  // namespace tare::kernels::cuda
