#include "lib/scaler/quantizer.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/device/device_memory.hpp"

namespace tare {
namespace {

using kernels::fp8::Format;
using kernels::fp8::Matrix;
using kernels::fp8::Quantisation;
using kernels::fp8::Scaling;
using kernels::fp8::Side;

/// What is said of one matrix of a list.
class Checked {
 public:
  Checked(const tare_backend_table& backend, const Quantisation& how, const Matrix& matrix, std::size_t index)
      : is_host_(&backend == &cpu_backend()), how_(how), matrix_(matrix), index_(index) {}

  void quantisable() const {
    in_itself();
    if (matrix_.rowwise.data == nullptr && matrix_.columnwise.data == nullptr && has_values()) {
      refuse("has neither rowwise nor columnwise data", "Give one side room, or both.");
    }
    const bool has_blocks = kernels::fp8::block_length(how_.scaling) != 0;
    side(matrix_.rowwise, of_rows, has_blocks);
    side(matrix_.columnwise, of_columns, has_blocks);
    if (how_.scaling == Scaling::delayed) required(matrix_.scale, "scale");
    if (how_.scaling == Scaling::nvfp4) required(matrix_.amax, "amax");
  }

  void dequantisable() const {
    in_itself();
    if (!has_values()) return;
    const bool by_rows = matrix_.rowwise.data != nullptr;
    if (!by_rows && matrix_.columnwise.data == nullptr) refuse("has neither rowwise nor columnwise data");
    side(by_rows ? matrix_.rowwise : matrix_.columnwise, by_rows ? of_rows : of_columns, true);
    if (how_.scaling == Scaling::nvfp4) required(matrix_.amax, "amax");
  }

 private:
  /// What a side's parts are called: checking allocates nothing.
  struct Names {
    const char* data;
    const char* scales;
  };
  static constexpr Names of_rows = {"rowwise data", "rowwise scales"};
  static constexpr Names of_columns = {"columnwise data", "columnwise scales"};

  [[noreturn]] void refuse(const std::string& defect, const char* hint = "",
                           Status status = Status::invalid_argument) const {
    throw Error(status, fmt::format("matrix {} {}", index_, defect), hint);
  }

  bool has_values() const { return matrix_.rows > 0 && matrix_.columns > 0; }

  void in_itself() const {
    if (matrix_.struct_size != sizeof(Matrix)) {
      refuse(fmt::format("has struct_size {}, and this library's is {}", matrix_.struct_size, sizeof(Matrix)),
             "Set it to sizeof(tare_matrix).");
    }
    if (matrix_.reserved != 0) refuse("has a reserved field that is not 0");
    const std::int64_t size = size_of(matrix_.dtype);
    if (size == 0) refuse(fmt::format("has an unknown dtype {}", static_cast<std::int32_t>(matrix_.dtype)));
    if (matrix_.dtype != Dtype::f32 && matrix_.dtype != Dtype::f16 && matrix_.dtype != Dtype::bf16) {
      refuse(fmt::format("is {}; f32, f16 and bf16 are quantised", name_of(matrix_.dtype)), "", Status::unsupported);
    }
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max());
    if (has_values() && matrix_.rows > most / static_cast<std::uint64_t>(size) / matrix_.columns) {
      refuse(fmt::format("of {} x {} values is beyond the address space", matrix_.rows, matrix_.columns));
    }
    if (has_values()) required(matrix_.values, "values", static_cast<std::size_t>(size));
    usable(matrix_.amax, "amax", sizeof(float));
    usable(matrix_.scale, "scale", sizeof(float));
  }

  void side(const Side& side, const Names& names, bool needs_scales) const {
    if (side.data == nullptr) return;
    if (has_values()) usable(side.data, names.data, 1);
    if (needs_scales && has_values() && side.scales == nullptr) refuse(fmt::format("has no {}", names.scales));
    usable(side.scales, names.scales, kernels::fp8::scale_bytes(how_.scaling));
    const bool is_rowwise = &side == &matrix_.rowwise;
    if (has_values() && side.scales != nullptr) {
      const Matrix whole = with_strides(how_, matrix_);
      within_address_space(is_rowwise ? whole.rowwise : whole.columnwise,
                           is_rowwise ? blocks_of_rows() : blocks_of_columns(), names);
    }
    if (how_.format != Format::e2m1) return;
    const std::uint64_t in_row = is_rowwise ? matrix_.columns : matrix_.rows;
    if (in_row % 2 != 0) {
      refuse(fmt::format("has {} values in a row of its {}, of which a byte holds two", in_row, names.data),
             "Pad it to an even number.");
    }
  }

  /// Blocks of a side as it lies in memory: as many scales.
  struct Blocks {
    std::uint64_t down;
    std::uint64_t along;
  };

  Blocks blocks_of_rows() const { return blocks(matrix_.rows, matrix_.columns); }
  Blocks blocks_of_columns() const {
    if (kernels::fp8::transposes(how_.scaling)) return blocks(matrix_.columns, matrix_.rows);
    return {kernels::fp8::quotient_up(matrix_.rows, kernels::fp8::block_length(how_.scaling)), matrix_.columns};
  }
  Blocks blocks(std::uint64_t rows, std::uint64_t columns) const {
    const std::uint64_t length = kernels::fp8::block_length(how_.scaling);
    if (length == 0) return {1, 1};
    return {how_.scaling == Scaling::blockwise_2d ? kernels::fp8::quotient_up(rows, length) : rows,
            kernels::fp8::quotient_up(columns, length)};
  }

  /// Kernels multiply by strides without looking.
  void within_address_space(const Side& side, const Blocks& blocks, const Names& names) const {
    const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) /
                                   kernels::fp8::scale_bytes(how_.scaling) -
                               1;
    const auto fits = [&](std::uint64_t steps, std::uint64_t stride) { return steps == 0 || stride <= most / steps; };
    const std::uint64_t down = blocks.down - 1, along = blocks.along - 1;
    if (fits(down, side.row_stride) && fits(along, side.column_stride) &&
        down * side.row_stride + along * side.column_stride <= most) {
      return;
    }
    refuse(fmt::format("has {} of {} x {} blocks with strides of {} and {}, which lead beyond the address space",
                       names.scales, blocks.down, blocks.along, side.row_stride, side.column_stride));
  }

  void required(const void* data, const char* name, std::size_t size = sizeof(float)) const {
    if (data == nullptr) refuse(fmt::format("has no {}", name));
    usable(data, name, size);
  }

  void usable(const void* data, const char* name, std::size_t size) const {
    if (data == nullptr) return;
    if (reinterpret_cast<std::uintptr_t>(data) % size != 0) {
      refuse(fmt::format("has {} at an address that is no multiple of {}", name, size));
    }
    if (is_host_ && is_device_memory(data)) {
      refuse(fmt::format("has {} in memory of a GPU, and this computes on the CPU", name),
             "Give host memory, or make it with \"device\":\"cuda:0\".");
    }
  }

  const bool is_host_;
  const Quantisation& how_;
  const Matrix& matrix_;
  const std::size_t index_;
};

/// Before there are threads: what fails afterwards would have to end them.
const tare_backend_table& backend_of(const QuantizerConfig& config) {
  look_for_cuda_driver();
  return config.cuda_device >= 0 ? cuda_backend() : cpu_backend();
}

}  // namespace

Quantizer::Quantizer(const QuantizerConfig& config)
    : how_(config.how),
      backend_(backend_of(config)),
      quantiser_(made_by(backend_, backend_.quantiser_make,
                         config.cuda_device >= 0 ? config.cuda_device : static_cast<std::int32_t>(config.threads),
                         &how_)) {}

void Quantizer::run(std::int32_t what, std::span<const Matrix> matrices, void* stream) {
  call(backend_.quantiser_run, quantiser_.get(), what, matrices.data(), matrices.size(), stream);
}

void Quantizer::quantise(std::span<const Matrix> matrices, void* stream) {
  for (std::size_t i = 0; i < matrices.size(); ++i) Checked(backend_, how_, matrices[i], i).quantisable();
  run(TARE_BACKEND_QUANTISE, matrices, stream);
}

void Quantizer::dequantise(std::span<const Matrix> matrices, void* stream) {
  for (std::size_t i = 0; i < matrices.size(); ++i) Checked(backend_, how_, matrices[i], i).dequantisable();
  run(TARE_BACKEND_DEQUANTISE, matrices, stream);
}

}  // namespace tare
