// Which folders the kernel tells of, and which have to be looked at again and again.
#include "lib/watch/changes.hpp"

#include <linux/magic.h>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("a run on a file system that other machines write to is polled, since this kernel would not tell of it") {
  CHECK(name_of_shared(NFS_SUPER_MAGIC) == "NFS");
  CHECK(name_of_shared(SMB_SUPER_MAGIC) == "SMB");
  CHECK(name_of_shared(CEPH_SUPER_MAGIC) == "Ceph");
  CHECK(name_of_shared(V9FS_MAGIC) == "9P");
  CHECK(name_of_shared(AFS_SUPER_MAGIC) == "AFS");
  CHECK(name_of_shared(AFS_FS_MAGIC) == "AFS");
  CHECK(name_of_shared(CODA_SUPER_MAGIC) == "Coda");
  CHECK(name_of_shared(OCFS2_SUPER_MAGIC) == "OCFS2");
  CHECK(name_of_shared(FUSE_SUPER_MAGIC) == "FUSE");
  // Of no header. Source: stat(1)'s fs.h of coreutils 9.1; VirtualBox: fs/vboxsf/super.c of Linux 6.1.
  CHECK(name_of_shared(0xFF534D42) == "CIFS");
  CHECK(name_of_shared(0xFE534D42) == "SMB2");
  CHECK(name_of_shared(0x0BD00BD0) == "Lustre");
  CHECK(name_of_shared(0x47504653) == "GPFS");
  CHECK(name_of_shared(0x19830326) == "BeeGFS");
  CHECK(name_of_shared(0x01161970) == "GFS2");
  CHECK(name_of_shared(0xAAD7AAEA) == "PanFS");
  CHECK(name_of_shared('V' | 'B' << 8 | 'o' << 16 | 'x' << 24) == "VirtualBox");
  CHECK(name_of_shared(0xBACBACBC) == "VMware");
}

TEST_CASE("a run on this machine's own disk or memory is followed by what the kernel tells") {
  for (const std::uint32_t own : {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, TMPFS_MAGIC, OVERLAYFS_SUPER_MAGIC}) {
    CHECK(name_of_shared(own).empty());
  }
  CHECK(name_of_shared(0x9123683E).empty());  // btrfs
}
