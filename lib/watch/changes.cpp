#include "lib/watch/changes.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lib/base/text.hpp"

namespace tare {

namespace {

constexpr std::size_t most_folders = 4096;
constexpr std::uint32_t move_events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE;
constexpr std::uint32_t watched = move_events | IN_MODIFY | IN_ONLYDIR;

struct FileSystem {
  std::uint32_t magic;
  std::string_view name;
};

/// Those on which others may write without this machine's kernel knowing. Magic numbers: linux/magic.h, statfs(2).
constexpr auto shared_by_machines = std::to_array<FileSystem>({{0x6969, "NFS"},
                                                               {0x517b, "SMB"},
                                                               {0xff534d42, "CIFS"},
                                                               {0xfe534d42, "SMB2"},
                                                               {0x0bd00bd0, "Lustre"},
                                                               {0x47504653, "GPFS"},
                                                               {0x19830326, "BeeGFS"},
                                                               {0x00c36400, "Ceph"},
                                                               {0x01021997, "9P"},
                                                               {0x5346414f, "AFS"},
                                                               {0x6b414653, "AFS"},
                                                               {0x73757245, "Coda"},
                                                               {0x01161970, "GFS2"},
                                                               {0x7461636f, "OCFS2"},
                                                               {0xaad7aaea, "PanFS"},
                                                               {0x65735546, "FUSE"},
                                                               {0x786f4256, "VirtualBox"},
                                                               {0xbacbacbc, "VMware"}});

std::string_view shared_name(const std::string& folder) {
  struct statfs about {};
  if (::statfs(folder.c_str(), &about) != 0) return {};
  return name_of_shared(static_cast<std::uint32_t>(about.f_type));
}

}  // namespace

std::string_view name_of_shared(std::uint32_t magic) {
  const auto* const found = std::ranges::find(shared_by_machines, magic, &FileSystem::magic);
  return found == shared_by_machines.end() ? std::string_view() : found->name;
}

Changes::Changes(bool polls, int stop) : stop_(stop) {
  if (polls) return;
  inotify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (inotify_ < 0) why_ = std::string("the kernel gives no inotify: ") + std::strerror(errno);
}

Changes::~Changes() {
  if (inotify_ >= 0) ::close(inotify_);
}

void Changes::poll_from_now_on(std::string why) {
  ::close(inotify_);
  inotify_ = -1;
  why_ = std::move(why);
}

void Changes::follow(const std::vector<std::string>& folders) {
  if (polls()) return;
  if (folders.size() > most_folders) return poll_from_now_on("there are more folders than the kernel should watch");
  for (const std::string& folder : folders) {
    if (std::ranges::find(folders_, folder) == folders_.end()) {
      const std::string_view shared = shared_name(folder);
      if (!shared.empty()) {
        return poll_from_now_on(escaped(folder) + " lies on " + std::string(shared) +
                                ", where others write unseen by this machine");
      }
    }
    // Adding one that is watched changes nothing; one that was taken away and made anew is another one.
    if (::inotify_add_watch(inotify_, folder.c_str(), watched) >= 0) continue;
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) continue;
    return poll_from_now_on(escaped(folder) + " cannot be watched: " + std::strerror(errno));
  }
  folders_ = folders;
}

bool Changes::rest(std::chrono::milliseconds time) const {
  pollfd stop{stop_, POLLIN, 0};
  return time.count() > 0 && ::poll(&stop, 1, static_cast<int>(time.count())) > 0;
}

Changes::Seen Changes::wait(std::chrono::milliseconds most) {
  std::array<pollfd, 2> waited{pollfd{stop_, POLLIN, 0}, pollfd{inotify_, POLLIN, 0}};
  const int ready = ::poll(waited.data(), waited.size(), static_cast<int>(most.count()));
  Seen seen;
  if (ready <= 0) return seen;
  seen.is_stopped = waited[0].revents != 0;
  if (polls() || waited[1].revents == 0) return seen;
  alignas(inotify_event) std::array<char, std::size_t{64} << 10> buffer{};
  for (;;) {
    const ssize_t size = ::read(inotify_, buffer.data(), buffer.size());
    if (size <= 0) break;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      inotify_event event{};
      std::memcpy(&event, buffer.data() + at, sizeof event);
      seen.is_changed = true;
      seen.is_moved = seen.is_moved || (event.mask & (move_events | IN_Q_OVERFLOW | IN_IGNORED)) != 0;
      at += sizeof event + event.len;
    }
  }
  return seen;
}

}  // namespace tare
