// Every bound on what a file may ask for, in one place: generous for real checkpoints, small for hostile ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare::limits {

/// What reading one file may ask for in all (lib/base/budget.hpp): `least` for any file, so much more for every KiB
/// beyond small_file_bytes, and never more than `most`; files that are read together have it together, without a most.
/// Of 433 small checkpoints of 35 frameworks none takes more than 3% of a share; of large ones a million tensors 6%,
/// 20,000 arrays in an npz 15%, the FP8 states of 2,000 modules alone 36%; of 5,000 that share one, in 0.6 MB, 94%
/// (tests/bench/results/2026-11-23-bounds.txt).
struct Share {
  std::uint64_t least, a_kib, most;
};
inline constexpr std::uint64_t small_file_bytes = std::uint64_t{4} << 20;
inline constexpr Share tree_bytes{std::uint64_t{52} << 20, 24 << 10, std::uint64_t{1} << 32};
inline constexpr Share unpacked_bytes{std::uint64_t{48} << 20, 32 << 10, std::uint64_t{1} << 32};
inline constexpr Share documents{std::uint64_t{1} << 16, 16, std::uint64_t{1} << 24};
inline constexpr Share steps{std::uint64_t{1} << 28, 64 << 10, std::uint64_t{1} << 40};

inline constexpr std::uint64_t max_pickle_bytes = std::uint64_t{1} << 30;
/// A deflated pickle may not claim more than this: real ones are stored, or small.
inline constexpr std::uint64_t max_inflated_bytes = std::uint64_t{16} << 20;
inline constexpr std::size_t max_depth = 1000;
inline constexpr std::size_t max_integer_digits = 4300;  ///< CPython's own limit on decimal text
inline constexpr std::size_t max_tensor_dimensions = 64;
inline constexpr std::uint64_t max_tensor_read_bytes = std::uint64_t{32} << 20;
inline constexpr std::uint64_t max_nested_bytes = std::uint64_t{32} << 20;  ///< of a document inside another
inline constexpr std::size_t max_nested_depth = 8;
inline constexpr std::uint64_t max_zip_entries = std::uint64_t{1} << 22;
inline constexpr std::uint64_t max_zip_directory_bytes = std::uint64_t{1} << 29;
inline constexpr std::size_t max_zip_name_bytes = 4096;
inline constexpr std::size_t max_parameters = std::size_t{1} << 21;  ///< in one file of named tensors
inline constexpr std::size_t max_parameter_name_bytes = 4096;
inline constexpr std::size_t max_path_bytes = std::size_t{1} << 16;  ///< to a value, from the root
inline constexpr std::size_t max_text_value_bytes = 4096;      ///< of a field: longer ones are shown by their type
inline constexpr std::size_t max_alike_findings = 64;          ///< told one by one, of one file and kind
inline constexpr std::size_t max_end_record_distance = 65535;  ///< as miniz and Python's zipfile have it
inline constexpr std::uint64_t max_field_elements = std::uint64_t{1} << 22;  ///< elements of one tensor field shown
inline constexpr std::size_t max_scalers = std::size_t{1} << 20;             ///< in one file
inline constexpr std::size_t max_files = std::size_t{1} << 17;               ///< files of one checkpoint directory
inline constexpr std::size_t max_small_text_bytes = std::size_t{16} << 20;   ///< pointers, configurations, indices
inline constexpr std::uint64_t max_safetensors_header_bytes = 100'000'000;   ///< as the format's own reader has it
inline constexpr std::uint64_t max_piped_bytes = std::uint64_t{1} << 30;     ///< read into memory: what has no ranges
inline constexpr std::uint64_t max_state_bytes = std::uint64_t{1} << 30;     ///< a state file, and its values unpacked
inline constexpr std::size_t max_json_depth = 64;                            ///< of configurations and state files
inline constexpr std::size_t max_json_names = std::size_t{1} << 12;          ///< in one object of them
inline constexpr std::uint64_t max_journal_bytes = std::uint64_t{1} << 32;   ///< one transaction of an edit
/// Of journals that this user's key did not seal: each of them, and what is kept of all.
inline constexpr std::uint64_t max_foreign_journal_bytes = std::uint64_t{8} << 20;
inline constexpr std::size_t max_origin_bytes = 4096;  ///< of each text that says who made a journal

}  // namespace tare::limits
