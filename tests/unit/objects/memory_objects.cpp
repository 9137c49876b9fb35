#include "tests/unit/objects/memory_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "lib/base/error.hpp"

namespace tare::test {

/// Requests that change something are counted; the last one is done, or is not, and nobody hears of it.
template <class Change>
auto MemoryObjects::changed(const std::string& request, const Change& change) {
  ++requests_;
  const bool is_last = requests_ == last_request_;
  if (last_request_ != 0 && (requests_ > last_request_ || (is_last && moment_ == Moment::before))) throw Stopped();
  if (on_change) on_change(request);
  changes.push_back(request);
  auto made = change();
  if (is_last) throw Stopped();
  return made;
}

void MemoryObjects::stop_at(std::size_t number, Moment moment) {
  requests_ = 0;
  last_request_ = number;
  moment_ = moment;
}

void MemoryObjects::put(const std::string& path, Bytes bytes) {
  objects_[path] = {std::move(bytes), fmt::format("\"{}\"", ++versions_), now};
}

ObjectSeen MemoryObjects::seen(const Stored& stored) const {
  ObjectSeen seen;
  seen.size = stored.bytes.size();
  seen.tag = stored.tag;
  seen.age = now - stored.written;
  seen.labels = labels;
  seen.lock = lock;
  if (copies_wholes) seen.kept = stored.tag.substr(1, stored.tag.size() - 2);
  return seen;
}

bool MemoryObjects::is_as_seen(const std::string& path, const ObjectSeen& seen) const {
  const auto there = objects_.find(path);
  const bool is_tag = there != objects_.end() && there->second.tag == seen.tag;
  const bool is_generation = !copies_wholes || there->second.tag == "\"" + seen.kept + "\"";
  return !is_conditional || (is_tag && is_generation);
}

std::optional<ObjectSeen> MemoryObjects::answered(const std::string& path) {
  if (lost_ != path) return seen(objects_.at(path));
  lost_.clear();
  return std::nullopt;
}

std::optional<ObjectSeen> MemoryObjects::look(const std::string& path) {
  const auto there = objects_.find(path);
  if (there == objects_.end()) return std::nullopt;
  return seen(there->second);
}

std::optional<ObjectSeen> MemoryObjects::start(const std::string& path, Bytes& begin) {
  constexpr std::size_t most = 1'000;
  if (path.starts_with(forbidden + "/")) throw Error(Status::io, path + ": you may not read it", "", EACCES);
  const auto there = objects_.find(path);
  if (there == objects_.end()) return std::nullopt;
  const Bytes& bytes = there->second.bytes;
  begin.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min(most, bytes.size())));
  return seen(there->second);
}

Bytes MemoryObjects::read(const std::string& path, const ObjectSeen& seen, Span span) {
  const auto there = objects_.find(path);
  if (there == objects_.end() || there->second.tag != seen.tag) {
    throw Error(Status::refused, path + ": changed since it was read");
  }
  if (span.end() > there->second.bytes.size()) throw Error(Status::io, path + ": is shorter");
  const ByteView run = ByteView(there->second.bytes).subspan(span.offset, span.size);
  return {run.begin(), run.end()};
}

std::vector<std::string> MemoryObjects::names(const std::string& folder) {
  std::vector<std::string> names = names_below(folder);
  std::erase_if(names, [](const std::string& name) { return name.find('/') != name.npos; });
  return names;
}

std::vector<std::string> MemoryObjects::names_below(const std::string& folder) {
  if (folder == forbidden) throw Error(Status::refused, folder + ": you may not list it", "", EACCES);
  std::vector<std::string> names;
  const std::string prefix = folder + "/";
  for (const auto& [path, stored] : objects_) {
    if (path.starts_with(prefix)) names.push_back(path.substr(prefix.size()));
  }
  return names;
}

std::optional<ObjectSeen> MemoryObjects::create(const std::string& path, ByteView bytes) {
  return changed("create " + path, [&]() -> std::optional<ObjectSeen> {
    if (is_conditional && has(path)) return std::nullopt;
    put(path, {bytes.begin(), bytes.end()});
    return answered(path);
  });
}

std::optional<ObjectSeen> MemoryObjects::replace(const std::string& path, const ObjectSeen& seen, ByteView bytes) {
  if (copies_wholes && seen.kept.empty()) throw Error(Status::refused, path + ": has no generation");
  return changed("replace " + path, [&]() -> std::optional<ObjectSeen> {
    if (!is_as_seen(path, seen)) return std::nullopt;
    put(path, {bytes.begin(), bytes.end()});
    return answered(path);
  });
}

void MemoryObjects::remove(const std::string& path) {
  changed("remove " + path, [&] { return objects_.erase(path); });
}

std::string MemoryObjects::begin(const std::string& path, const ObjectSeen&) {
  if (copies_wholes) return fmt::format("pieces {}", ++versions_);  // nobody is asked
  return changed("begin " + path, [&] {
    const std::string upload = fmt::format("upload {} of {}", ++versions_, path);
    uploads.insert(upload);
    return upload;
  });
}

std::optional<ObjectSeen> MemoryObjects::compose(const std::string& path, const ObjectSeen& seen,
                                                 const std::string& upload, const std::vector<ObjectPart>& parts,
                                                 const NewBytes& bytes, const std::function<void()>& before_each) {
  Bytes made;
  for (const ObjectPart& part : parts) {
    before_each();
    const bool is_taken = changed("part of " + path, [&] {
      if (!is_as_seen(path, seen) || !(copies_wholes || uploads.contains(upload))) return false;
      const Bytes run = part.copied_from ? read(path, seen, {*part.copied_from, part.span.size}) : bytes(part.span);
      made.insert(made.end(), run.begin(), run.end());
      return true;
    });
    if (!is_taken) return std::nullopt;
  }
  return changed("complete " + path, [&]() -> std::optional<ObjectSeen> {
    if (!is_as_seen(path, seen) || (uploads.erase(upload) == 0 && !copies_wholes)) return std::nullopt;
    put(path, std::move(made));
    return answered(path);
  });
}

void MemoryObjects::give_up(const std::string& path, const std::string& upload) {
  if (copies_wholes) return;
  changed("give up " + path, [&] { return uploads.erase(upload); });
}

std::string MemoryObjects::place_of_copy(const std::string& path, const ObjectSeen& seen) {
  return fmt::format("{}.{}.kept", path, seen.kept);
}

bool MemoryObjects::copy(const std::string& path, const ObjectSeen& seen) {
  return changed("copy " + path, [&] {
    if (!is_as_seen(path, seen)) return false;
    put(place_of_copy(path, seen), bytes(path));
    return true;
  });
}

std::optional<ObjectSeen> MemoryObjects::bring_back(const std::string& path, const ObjectSeen& seen,
                                                    const std::string& kept) {
  return changed("bring back " + path, [&]() -> std::optional<ObjectSeen> {
    if (!is_as_seen(path, seen)) return std::nullopt;
    const auto copied = objects_.find(fmt::format("{}.{}.kept", path, kept));
    if (copied == objects_.end()) throw Error(Status::refused, path + ": no copy is there");
    put(path, Bytes(copied->second.bytes));
    return answered(path);
  });
}

void MemoryObjects::remove_copy(const std::string& path, const std::string& kept) {
  changed("remove copy of " + path, [&] { return objects_.erase(fmt::format("{}.{}.kept", path, kept)); });
}

}  // namespace tare::test
