# Sourced: bare systems in chroots, for what tries tare there. They are kept in build/platforms, or where TARE_PLATFORMS
# says.
kept=$(realpath -m "${TARE_PLATFORMS:-build/platforms}")

# not_run REASON: ends the script, which may have a way of its own.
declare -F not_run >/dev/null || not_run() {
  echo "$(basename "$0" .sh): NOT RUN: $*"
  exit 77
}

# suite_of PLATFORM: what debootstrap has to be told.
suite_of() {
  case $1 in
    debian11) echo bullseye http://deb.debian.org/debian main ;;
    debian12) echo bookworm http://deb.debian.org/debian main ;;
    debian13) echo trixie http://deb.debian.org/debian main ;;
    cuda12) echo trixie http://deb.debian.org/debian main,contrib,non-free ;;
    ubuntu1804) echo bionic http://archive.ubuntu.com/ubuntu main,universe ;;
    ubuntu2204) echo jammy http://archive.ubuntu.com/ubuntu main,universe ;;
    ubuntu2404) echo noble http://archive.ubuntu.com/ubuntu main,universe ;;
    *) echo "there is no platform $1" >&2; exit 2 ;;
  esac
}

# with_qemu MACHINE COMMAND...: where the kernel gives that machine's programs to qemu-user. That is so in a user
# namespace of the command's own, which has this one's users, and nowhere else.
with_qemu() {
  local machine=$1 gate process
  shift
  gate=$(mktemp -u)
  mkfifo "$gate"
  # shellcheck disable=SC2016
  unshare --user --mount bash -c '
    gate=$1 handler=$2; shift 2
    read -r <"$gate"
    mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && tr -d "\n" <"$handler" >/proc/sys/fs/binfmt_misc/register && exec "$@"' \
    bash "$gate" "/usr/lib/binfmt.d/qemu-$machine.conf" "$@" <&0 &
  process=$!
  until [ "$(readlink /proc/$process/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.05; done
  echo "0 0 65536" >/proc/$process/uid_map
  echo "0 0 65536" >/proc/$process/gid_map
  echo >"$gate"
  rm "$gate"
  wait $process
}

# within ROOT COMMAND...: in the chroot, with /proc, /dev and /sys, which are gone with the command.
within() {
  local root=$1 emulated=()
  shift
  [ ! -e "$root/.machine" ] || emulated=(with_qemu "$(cat "$root/.machine")")
  # shellcheck disable=SC2016
  "${emulated[@]}" unshare --mount bash -c '
    root=$1; shift
    mount --rbind /proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" &&
      exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        CMAKE_BUILD_PARALLEL_LEVEL="$(nproc)" "$@"' bash "$root" "$@"
}

# require_chroots: ends the script where there can be none.
require_chroots() {
  [ "$(id -u)" -eq 0 ] || not_run "chroots are root's"
  command -v debootstrap >/dev/null || not_run "there is no debootstrap"
  unshare --mount true 2>/dev/null || not_run "nothing can be mounted here"
  mkdir -p "$kept"
}

# bare PLATFORM ROOT [ARCHITECTURE MACHINE]: a system with what every one has, and nothing else; as it was left, if it is
# there. Of another architecture than this one's it runs under qemu-user.
bare() {
  local root=$2 architecture=${3:-} machine=${4:-} suite mirror components script
  if [ ! -f "$root/.complete" ]; then
    read -r suite mirror components < <(suite_of "$1")
    rm -rf "$root"
    if [ -n "$machine" ] && [ "$machine" != "$(uname -m)" ]; then
      with_qemu "$machine" mmdebstrap --mode=root --architectures="$architecture" --variant=minbase \
        --components="$components" "$suite" "$root" "$mirror" >"$root.log" 2>&1 || not_run "$1 for $architecture cannot be fetched: $(tail -n 1 "$root.log")"
      echo "$machine" >"$root/.machine"
      touch "$root/.complete"
    fi
  fi
  if [ ! -f "$root/.complete" ]; then
    script=/usr/share/debootstrap/scripts/$suite
    [ -e "$script" ] || script=${script%/*}/gutsy  # every release of Ubuntu's, which this debootstrap may be older than
    debootstrap --variant=minbase --include=ca-certificates --components="$components" "$suite" "$root" "$mirror" "$script" \
      >"$root.log" 2>&1 || not_run "$1 cannot be fetched: $(tail -n 1 "$root.log")"
    touch "$root/.complete"
  fi
  cp /etc/resolv.conf "$root/etc/resolv.conf"
}

# with_sources ROOT: the sources of now in its /tare, beside what was built there before.
with_sources() {
  local root=$1
  mkdir -p "$root/tare"
  find "$root/tare" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' sh |
    tar --null --no-recursion --files-from=- --create | tar --extract --directory "$root/tare"
}
