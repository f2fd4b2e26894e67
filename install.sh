#!/bin/sh
# Installs Skiff on this box as a systemd service: looks first, then says each thing it does. POSIX sh; running it again brings
# the program up to date and changes nothing else. A power cut at any line leaves the old program or the new one; run it again.
#
#   ./install.sh [up|server|agent] [--set key=value]… [--from folder] [--public-key file] [--dry-run] [--no-start] [--force]
#
# --set puts a setting into /etc/skiff/config.yaml when that is written; --from installs an archive unpacked elsewhere, so that an
# installed install.sh checks a new release; --public-key is the key that the release must be signed with, kept as
# /etc/skiff/release.pub for the releases to come; DESTDIR puts everything below another root.
set -eu
umask 022

say() { printf '%s\n' "$*"; }
fail() {
  printf 'install: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf '  fix: %s\n' "$2" >&2
  exit 1
}

source=$(cd "$(dirname "$0")" && pwd -P)
root=${DESTDIR:-}
mode=up
dry=
start=yes
force=
settings=
key=
while [ $# -gt 0 ]; do
  case $1 in
    up | server | agent) mode=$1 ;;
    --dry-run) dry=yes ;;
    --no-start) start= ;;
    --force) force=yes ;;
    --set) [ $# -gt 1 ] || fail "--set needs key=value"; shift; settings="$settings$1
" ;;
    --set=*) settings="$settings${1#--set=}
" ;;
    --from) [ $# -gt 1 ] || fail "--from needs a folder"; shift; source=$(cd "$1" && pwd -P) ;;
    --from=*) source=$(cd "${1#--from=}" && pwd -P) ;;
    --public-key) [ $# -gt 1 ] || fail "--public-key needs a file"; shift; key=$1 ;;
    --public-key=*) key=${1#--public-key=} ;;
    -h | --help) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) printf 'install: "%s" is neither up, server, agent nor a known flag\n' "$1" >&2; exit 2 ;;
  esac
  shift
done
printf '%s' "$settings" | while IFS= read -r setting; do
  case $setting in [a-z]*=*) ;; *) fail "--set \"$setting\" is not key=value" ;; esac
done

program=$root/opt/skiff
config=$root/etc/skiff/config.yaml
unit=$root/etc/systemd/system/skiff.service
link=$root/usr/local/bin/skiff
installed_key=$root/etc/skiff/release.pub

# ---- look, change nothing ----------------------------------------------------------------------------------------------

problems=0
problem() {
  printf 'problem: %s\n  fix: %s\n' "$1" "$2" >&2
  problems=$((problems + 1))
}

has_module() { # name: built in, loaded, or there to be loaded
  [ -d "/sys/module/$1" ] || modprobe -n -q "$1" 2>/dev/null || grep -qs "/$1.ko" "/lib/modules/$(uname -r)/modules.builtin"
}

port_taken() { # port
  hex=$(printf '%04X' "$1")
  cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | awk -v port="$hex" '$4 == "0A" { n = split($2, at, ":"); if (at[n] == port) found = 1 } END { exit !found }'
}

# The one that the service will use: of the settings that are kept, or of those that will be written.
look_at_port() { # setting, default
  if [ -e "$config" ]; then port=$(sed -n "s/^$1: *['\"]\{0,1\}\([0-9]*\).*/\1/p" "$config"); else port=$(printf '%s' "$settings" | sed -n "s/^$1=\([0-9]*\)$/\1/p"); fi
  port=$(printf '%s\n' "$port" | tail -n 1)
  port=${port:-$2}
  ! port_taken "$port" || problem "port $port is taken" "see who has it: ss -ltnp sport = :$port; or $([ -e "$config" ] && echo "set $1 in $config" || echo "--set $1=<other>")"
}

is_signed() { # folder
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$1/SHA256SUMS" -sigfile "$1/SHA256SUMS.sig" >/dev/null 2>&1
}

# Nothing of a release is run or copied before this: every file as SHA256SUMS says, and SHA256SUMS signed where a key is known.
check_release() {
  [ -n "$key" ] || [ ! -e "$installed_key" ] || key=$installed_key
  sums=$source/SHA256SUMS
  checked=
  if [ ! -e "$sums" ]; then
    [ -z "$key" ] || fail "this is no release archive (it has no SHA256SUMS), and only releases signed with $key are installed" "unpack a signed release, or remove $installed_key"
    say "not a release archive: its files are not checked"
    return
  fi
  checked=$(sha256sum <"$sums")
  if [ -n "$key" ]; then
    [ -r "$key" ] || fail "the public key $key cannot be read"
    command -v openssl >/dev/null 2>&1 || fail "there is no openssl to check the signature with" "apt-get install openssl"
    [ -e "$sums.sig" ] || fail "this release is not signed, and only those signed with $key are installed" "get the signed release, or remove $installed_key"
    is_signed "$source" ||
      fail "the signature of this release is not that of $key: it was changed, or made by somebody else" "download it again from where you trust it"
    say "the release is signed with $key"
  elif [ -e "$sums.sig" ]; then
    say "the release is signed, but no public key is known to check that with (--public-key)"
  else
    say "the release is not signed: only its checksums are checked"
  fi
  # What was installed from here before has left its image archives behind.
  partly=
  [ "$source" != "$(cd "$program" 2>/dev/null && pwd -P)" ] || partly=--ignore-missing
  (cd "$source" && sha256sum -c --quiet --strict $partly SHA256SUMS) >&2 || fail "the files of this release are not those of its SHA256SUMS: the download is damaged or was changed" "download and unpack it again"
}

# The copy is root's alone; what it was copied from may have been changed since it was checked, or have more in it.
check_copy() {
  [ -e "$fresh/SHA256SUMS" ] || [ -n "$checked" ] || return 0
  [ "$checked" = "$(sha256sum <"$fresh/SHA256SUMS")" ] || fail "$source was changed while it was installed"
  [ -z "$key" ] || is_signed "$fresh" || fail "$source was changed while it was installed"
  strange=$(cd "$fresh" && find . ! -type d ! -type f | head -n 3)
  [ -z "$strange" ] || fail "this release has links or devices in it, which releases do not have: $strange" "download and unpack it again"
  cut -c67- "$fresh/SHA256SUMS" | LC_ALL=C sort >"$fresh.listed"
  strange=$(cd "$fresh" && find . -type f ! -path ./SHA256SUMS ! -path ./SHA256SUMS.sig | cut -c3- | LC_ALL=C sort | LC_ALL=C comm -23 - "$fresh.listed" | head -n 3)
  rm "$fresh.listed"
  [ -z "$strange" ] || fail "this release has files that are not in its SHA256SUMS: $strange" "download and unpack it again"
  (cd "$fresh" && sha256sum -c --quiet --strict --ignore-missing SHA256SUMS) >&2 || fail "$source was changed while it was installed"
}

look() {
  [ "$(uname -s)" = Linux ] || fail "this is $(uname -s), and a Kubernetes node needs Linux" "run it on a Linux box or in a Linux VM"
  case $(uname -m) in x86_64 | aarch64) ;; *) fail "this is a $(uname -m) machine, and no current Node exists for it" "use a 64-bit x86 or ARM system" ;; esac
  [ "$(getconf LONG_BIT)" = 64 ] || fail "this system's programs are 32-bit" "install the 64-bit Raspberry Pi OS or Debian image"
  if [ -z "$root" ]; then
    [ -n "$dry" ] || [ "$(id -u)" = 0 ] || fail "installing needs root" "sudo $0"
    [ -d /run/systemd/system ] || problem "systemd does not run here, so nothing would start the service" "run $source/skiff $mode by hand"
  fi
  [ "$(date -u +%Y)" -ge 2024 ] || problem "the clock says $(date -u +%F): certificates of servers and registries would be refused" "timedatectl set-ntp true"
  if [ "$mode" != server ]; then
    grep -qsw memory /sys/fs/cgroup/cgroup.controllers || grep -Eqs '^memory[[:space:]]+[0-9]+[[:space:]]+[0-9]+[[:space:]]+1$' /proc/cgroups ||
      problem "the memory cgroup is off: memory limits would not hold" "on a Pi add cgroup_enable=memory cgroup_memory=1 to /boot/firmware/cmdline.txt, then reboot"
    grep -qsw overlay /proc/filesystems || has_module overlay || problem "the kernel has no overlay file systems" "install a kernel with CONFIG_OVERLAY_FS"
    has_module nf_tables || nft list tables >/dev/null 2>&1 ||
      problem "the kernel has no nf_tables, so there would be no services" "install a kernel with CONFIG_NF_TABLES"
  fi
  free=$(df -Pk "${root:-/}" | awk 'NR == 2 { print int($4 / 1024) }')
  [ "$free" -ge 1024 ] || problem "only $free MiB are free on the disk" "remove what is not needed; 1024 MiB is the least"
  # While the service runs, or is about to, they are its own.
  case ${root:+private}$(systemctl is-active skiff.service 2>/dev/null) in
    private* | active | activating | reloading | deactivating) ;;
    *)
      [ "$mode" = agent ] || look_at_port https-port 6443
      [ "$mode" = server ] || look_at_port kubelet-port 10250
      ;;
  esac
  [ "$problems" = 0 ] || [ -n "$force" ] || [ -n "$dry" ] || fail "nothing was changed" "mend the above, or run again with --force"
}

# ---- do, or only say ---------------------------------------------------------------------------------------------------

act() { # what, then the command
  say "$1"
  shift
  [ -n "$dry" ] || "$@"
}

# What only tests need stays behind: it is most of a checkout. Without a Node to read the lock file with, all of it comes along.
copy_packages() {
  node=
  for candidate in "$source/runtime/node" "$source"/node_modules/node-linux-*/bin/node; do [ ! -x "$candidate" ] || node=$candidate; done
  if [ -z "$node" ] || [ ! -e "$source/package-lock.json" ]; then
    cp -a "$(cd "$source/node_modules" && pwd -P)" "$fresh/node_modules"
    return
  fi
  (cd "$source" && "$node" -e '
    const { existsSync, readFileSync } = require("node:fs");
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
    const isNeeded = ([path, { dev, devOptional }]) => path.startsWith("node_modules/") && !dev && !devOptional && existsSync(path);
    for (const [path] of Object.entries(packages).filter(isNeeded)) console.log(path);
  ') >"$fresh/.packages"
  tar -C "$source" -cf - -T "$fresh/.packages" | tar -C "$fresh" -xf -
  rm "$fresh/.packages"
  # So the launcher knows that they fit this lock file.
  cksum <"$source/package-lock.json" >"$fresh/node_modules/.skiff-run"
}

# On the disk, not only in memory: a file whose name survives a power cut must have its content too.
settle() { # a path on the file system meant
  sync -f "$1" 2>/dev/null || sync
}

# Exchanges two names in one step (renameat2 with RENAME_EXCHANGE): at no moment is there no program. coreutils has it since 9.5;
# before that perl does it, which every Debian has.
exchange() { # two paths on one file system
  mv --exchange -T "$1" "$2" 2>/dev/null && return
  # shellcheck disable=SC2016
  perl -e 'my %call = (x86_64 => 316, aarch64 => 276); my $call = $call{$ARGV[2]} or exit 1; exit(syscall($call, -100, $ARGV[0], -100, $ARGV[1], 2) == 0 ? 0 : 1)' "$1" "$2" "$(uname -m)" 2>/dev/null
}

# A second folder first, so that an interrupted copy leaves the old program whole. After the exchange it holds the old one.
copy_program() {
  fresh=$program.new
  # Left by an installation that was cut off where names cannot be exchanged.
  [ -e "$program" ] || [ ! -e "$program.old" ] || mv -T "$program.old" "$program"
  rm -rf "$fresh" "$fresh.listed"
  mkdir -p "$fresh"
  chmod 700 "$fresh"
  for part in skiff skiff.ts install.sh package.json package-lock.json deno.json LICENSE README.md docs agent control cri cni plugins dist runtime packages sbom.cdx.json SHA256SUMS SHA256SUMS.sig .generated; do
    [ ! -e "$source/$part" ] || cp -a "$source/$part" "$fresh/$part"
  done
  # Neither archives made from this checkout nor pieces of earlier bundles and pages: the stamp beside them names its own.
  for part in "$fresh"/dist/* "$fresh"/.generated/ui/*; do
    grep -qsxF "${part##*/}" "${part%/*}/stamp" || rm -rf "$part"
  done
  [ ! -d "$source/node_modules" ] || copy_packages
  [ "$(id -u)" != 0 ] || chown -R 0:0 "$fresh"
  chmod -R go-w,a-s "$fresh"
  check_copy
  chmod 755 "$fresh"
  settle "$fresh"
  if [ ! -e "$program" ]; then
    mv -T "$fresh" "$program"
  elif ! exchange "$fresh" "$program"; then
    say "  (names cannot be exchanged here: if the power is cut right now, run this again)"
    rm -rf "$program.old"
    mv -T "$program" "$program.old"
    mv -T "$fresh" "$program"
  fi
  settle "$program"
  rm -rf "$fresh" "$program.old"
}

keep_key() {
  mkdir -p "$(dirname "$installed_key")"
  cp "$key" "$installed_key.new"
  chmod 644 "$installed_key.new"
  settle "$installed_key.new"
  mv "$installed_key.new" "$installed_key"
}

write_config() {
  mkdir -p "$(dirname "$config")"
  (
    umask 077
    {
      printf '# Settings of skiff %s: every flag may stand here under its own name (skiff %s --help).\n' "$mode" "$mode"
      # Values are quoted for YAML; numbers and switches are left as they are.
      printf '%s' "$settings" | while IFS= read -r setting; do
        value=${setting#*=}
        case $value in
          true | false) ;;
          '' | *[!0-9]*) value="'$(printf '%s' "$value" | sed "s/'/''/g")'" ;;
        esac
        printf '%s: %s\n' "${setting%%=*}" "$value"
      done
    } >"$config.new"
  )
  settle "$config.new"
  mv "$config.new" "$config"
}

write_unit() {
  mkdir -p "$(dirname "$unit")"
  # Systemd knows a growing pause since 254; older ones warn of the words at each load.
  growing=
  version=$(systemctl --version 2>/dev/null | sed -n '1s/^systemd \([0-9][0-9]*\).*/\1/p')
  [ "${version:-0}" -lt 254 ] || growing='# The pause grows to a minute.
RestartSteps=5
RestartMaxDelaySec=60
'
  cat >"$unit.new" <<UNIT
[Unit]
Description=Skiff, a Kubernetes node and compact control plane ($mode)
After=network-online.target containerd.service docker.service time-sync.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart=/opt/skiff/skiff $mode --config /etc/skiff/config.yaml
# Containers outlive the service: only the program itself is stopped with it.
KillMode=process
Delegate=yes
WatchdogSec=60
TimeoutStartSec=10min
TimeoutStopSec=90
Restart=always
RestartSec=5
${growing}LimitNOFILE=1048576
LimitNPROC=infinity
LimitCORE=0
TasksMax=infinity
OOMScoreAdjust=-900
# Containers inherit what the service may not do, so protection is the containers' own (seccomp, capabilities), not set here.
KeyringMode=private
UMask=0022

[Install]
WantedBy=multi-user.target
UNIT
  chmod 644 "$unit.new"
  settle "$unit.new"
  mv "$unit.new" "$unit"
}

# Those of a release archive; the program imports what it finds there.
copy_images() {
  mkdir -p "$1"
  for image in "$source"/images/*; do
    # Under another name until it is whole: the running program imports what it finds.
    cp "$image" "$1/.${image##*/}.new"
    mv "$1/.${image##*/}.new" "$1/${image##*/}"
  done
}

make_link() {
  mkdir -p "$(dirname "$link")"
  # Another name first: ln -f would remove the old link before it makes the new one.
  ln -sfn /opt/skiff/skiff "$link.new"
  mv -fT "$link.new" "$link"
}

check_release
look
[ -z "$dry" ] || say "dry run: nothing is changed"
# A release archive brings all but Debian's packages; a checkout fetches the rest once.
[ -n "$root" ] || act "setting up what the program stands on" "$source/skiff" setup run
if [ "$source" = "$(cd "$program" 2>/dev/null && pwd -P)" ]; then
  say "the program is in $program already"
else
  act "copying the program to $program" copy_program
fi
if [ -n "$key" ] && [ "$key" != "$installed_key" ]; then act "keeping the public key of releases in $installed_key" keep_key; fi
if [ -e "$config" ]; then
  say "keeping the settings in $config"
  [ -z "$settings" ] || say "  (--set was not used: edit the file instead)"
else
  act "writing the settings to $config" write_config
fi
if [ -d "$source/images" ]; then
  images=$root$(sed -n "s/^data-dir: *'\{0,1\}\([^']*\)'\{0,1\} *\$/\1/p" "$config" 2>/dev/null || true)
  [ "$images" != "$root" ] || images=$root/var/lib/skiff
  act "copying image archives to $images/images" copy_images "$images/images"
fi
act "writing the service $unit ($mode)" write_unit
if [ -e "$link" ] && [ ! -L "$link" ]; then say "leaving $link alone: it is not ours"; else act "linking $link to the program" make_link; fi
if [ -n "$root" ]; then
  say "not starting anything: this is not the running system ($root)"
elif [ -n "$start" ]; then
  act "telling systemd of it" systemctl daemon-reload
  act "starting the service at boot" systemctl enable -q skiff.service
  act "starting the service now, and waiting until it is ready" systemctl restart skiff.service
  [ -n "$dry" ] || say "done: see skiff check, systemctl status skiff and journalctl -u skiff"
else
  act "telling systemd of it" systemctl daemon-reload
  say "not starting it: systemctl enable --now skiff"
fi
