#include "lib/checkpoint/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/file_path.hpp"
#include "lib/base/naming.hpp"
#include "lib/base/versioned_source.hpp"
#include "lib/checkpoint/directory.hpp"
#include "lib/checkpoint/names.hpp"
#include "lib/checkpoint/several_files.hpp"
#include "lib/container/kept_directory.hpp"
#include "lib/container/keras_config.hpp"
#include "lib/dialect/frameworks/transformer_engine_empty.hpp"
#include "lib/dialect/half_moments.hpp"
#include "lib/dialect/quantised_optimizer.hpp"
#include "lib/dialect/zero_moments.hpp"

namespace tare {
namespace {

constexpr std::size_t most_missing = 3;

void add_file(Reading& reading, std::string path, std::string location, std::string_view format, const Source& source) {
  CheckpointFile& file = reading.files.emplace_back();
  file.path = std::move(path);
  file.location = std::move(location);
  file.format = format;
  file.size = source.size();
  if (const auto* local = dynamic_cast<const FileSource*>(&source)) file.stamp = local->status();
  file.version = version_of(source);
}

constexpr std::uint64_t small_bytes = 16 << 10;

/// Where opening and reading are slow, what counts is how often.
std::shared_ptr<const Source> read_if_small(const std::shared_ptr<const Source>& source) {
  if (source->size() > small_bytes) return source;
  return std::make_shared<const MemorySource>(source->name(), source->read({0, source->size()}), source->budget());
}

void keep(CheckpointFile& file, const std::shared_ptr<const Source>& source, const Source& read,
          std::unique_ptr<const Container> container) {
  if (&read != source.get()) {
    file.kept = std::make_shared<KeptFile>(KeptFile{read.read({0, read.size()}), nullptr, nullptr});
  } else if (file.stamp || !file.version.empty()) {
    file.kept = std::make_shared<KeptFile>(KeptFile{{}, source, std::move(container)});
  }
}

Reading read_single(const std::string& relative, const std::string& location, const OpenOptions& options) {
  Reading reading;
  const std::shared_ptr<const Source> source = options.files->open(location);
  if (options.budget != nullptr) source->count_in(options.budget);
  const std::shared_ptr<const Source> read = read_if_small(source);
  std::unique_ptr<const Container> container = open_container(read);
  reading.findings = container->findings();
  reading.sizes = rank_sizes(container->tree());
  FoundScalers scalers = find_scalers(container->tree(), {relative, configuration_of(*container)}, reading.findings);
  reading.configurations = find_configurations(container->tree());
  reading.trainers = trainers_of(container->tree(), {relative}, scalers);
  if (auto told = told_of_quantised_optimizer(container->tree())) reading.findings.push_back(std::move(*told));
  if (auto told = told_of_half_moments(container->tree())) reading.findings.push_back(std::move(*told));
  if (auto told = told_of_zero_moments(container->tree())) reading.findings.push_back(std::move(*told));
  if (auto told = told_of_empty_fp8(container->tree())) reading.findings.push_back(std::move(*told));
  reading.may_hold_more = std::any_of(reading.findings.begin(), reading.findings.end(),
                                      [](const Finding& finding) { return finding.code == "state-not-read"; });
  if (scalers.empty() && !reading.may_hold_more) reading.contents = describe_contents(container->tree());
  reading.scaled_types = scaled_types(container->tree());
  for (Finding& finding : reading.findings) finding.file = relative;
  add_file(reading, relative, location, container->format(), *source);
  if (options.list_globals) reading.files.front().globals = container->globals();
  if (options.keeps_for_edit) keep(reading.files.front(), source, *read, std::move(container));
  container.reset();
  for (; !scalers.empty(); scalers.pop_front()) reading.scalers.push_back({std::move(scalers.front()), {0, {0}}});
  return reading;
}

/// Where one file says where everything is, that is most of what was read.
void keep_whole(CheckpointFile& first, std::unique_ptr<Container> container) {
  if (dynamic_cast<const WithDirectory*>(container.get()) == nullptr || !(first.stamp || !first.version.empty()))
    return;
  first.kept = std::make_shared<KeptFile>(KeptFile{{}, nullptr, std::move(container)});
}

void tell_of_missing(const Directory& directory, const std::vector<std::string>& files, std::string_view framework,
                     std::vector<Finding>& findings) {
  std::vector<std::string> missing;
  std::copy_if(files.begin(), files.end(), std::back_inserter(missing),
               [&](const std::string& file) { return !directory.has(file); });
  if (missing.empty()) return;
  const std::size_t count = missing.size();
  missing.resize(std::min(count, most_missing));
  findings.push_back({Severity::error, "incomplete-checkpoint",
                      fmt::format("{} of its {} file{} {} not there, so {} cannot load all of it: {}{}", count,
                                  files.size(), files.size() == 1 ? "" : "s", count == 1 ? "is" : "are", framework,
                                  fmt::join(missing, ", "), count > missing.size() ? " ..." : ""),
                      "", ""});
}

Reading read_several(const SeveralFiles& format, const std::string& relative, const std::string& location,
                     const OpenOptions& options) {
  Reading reading;
  const std::string name(file_name(relative));
  const std::string prefix = relative.substr(0, relative.size() - name.size());
  const std::string folder = location.substr(0, location.size() - name.size());
  const auto directory = directory_of(*options.files, location, options.budget);
  OpenedWhole opened = format.open(directory, name);
  const Container& container = *opened.container;
  reading.findings = container.findings();
  FoundScalers scalers = find_scalers(container.tree(), {relative, configuration_of(container)}, reading.findings);
  reading.configurations = find_configurations(container.tree());
  reading.trainers = trainers_of(container.tree(), {relative}, scalers);
  if (auto told = told_of_quantised_optimizer(container.tree())) reading.findings.push_back(std::move(*told));
  if (auto told = told_of_half_moments(container.tree())) reading.findings.push_back(std::move(*told));
  if (auto told = told_of_zero_moments(container.tree())) reading.findings.push_back(std::move(*told));
  if (auto told = told_of_empty_fp8(container.tree())) reading.findings.push_back(std::move(*told));
  tell_of_missing(*directory, opened.all_files, format.framework, reading.findings);
  std::move(opened.findings.begin(), opened.findings.end(), std::back_inserter(reading.findings));
  reading.may_hold_more = std::any_of(reading.findings.begin(), reading.findings.end(),
                                      [](const Finding& finding) { return finding.severity == Severity::error; });
  if (scalers.empty() && !reading.may_hold_more) reading.contents = opened.contents;
  for (Finding& finding : reading.findings) finding.file = prefix + (finding.file.empty() ? name : finding.file);
  for (const std::string& part : container.parts()) {
    add_file(reading, prefix + part, folder + part, container.format(), *directory->open(part));
  }
  for (FoundScaler& scaler : scalers) {
    std::set<std::size_t> places;
    for (const Field& field : scaler.fields) places.insert(container.part_of(field.node));
    reading.scalers.push_back({std::move(scaler), {0, {places.begin(), places.end()}}});
  }
  CheckpointFile& first = reading.files.front();
  for (std::size_t i = 0; i < reading.files.size(); ++i) first.parts.push_back(i);
  if (options.list_globals) first.globals = container.globals();
  if (options.keeps_for_edit) keep_whole(first, std::move(opened.container));
  return reading;
}

}  // namespace

std::unique_ptr<Container> open_single_file(const std::shared_ptr<const Source>& source) {
  return open_container(read_if_small(source));
}

Reading read_checkpoint_file(const std::string& relative, const std::string& location, const OpenOptions& options) {
  if (const SeveralFiles* format = format_of_whole(file_name(relative))) {
    return read_several(*format, relative, location, options);
  }
  return naming(location, [&] { return read_single(relative, location, options); });
}

}  // namespace tare
