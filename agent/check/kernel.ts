// Findings about the kernel: control groups, overlay, forwarding, inotify, and what the network stands on.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { machineFacts } from "../host/machine.ts";
import { type CheckFacts, type Finding, fail, ok, readFact, warn } from "./finding.ts";

export async function kernelFindings(facts: CheckFacts): Promise<Finding[]> {
  return [memoryCgroup(facts), overlay(facts), forwarding(facts), ...inotify(facts), ...(await network(facts))];
}

function memoryCgroup(facts: CheckFacts): Finding {
  const name = "memory-cgroup";
  const mounts = readFact(facts, "proc/self/mountinfo");
  if (mounts !== "" && !/ - cgroup2? /.test(mounts)) {
    const message = "no control groups are mounted here: no container can be started";
    const fix = "run it where systemd does, or mount them: mount -t cgroup2 none /sys/fs/cgroup";
    return fail(name, message, `${fix} (ip netns exec hides them: use nsenter --net=/run/netns/<name>)`);
  }
  if (machineFacts(facts.root).hasMemoryController) return ok(name, "the kernel counts and limits memory");
  const message = "the memory cgroup is off: memory limits of containers do not hold";
  const words = "cgroup_enable=memory cgroup_memory=1";
  const file = ["boot/firmware/cmdline.txt", "boot/cmdline.txt"].find((path) => existsSync(join(facts.root, path)));
  if (file) return fail(name, message, `add to the one line in /${file}: ${words}; then reboot`);
  return fail(name, message, `add ${words} to the kernel's command line (GRUB_CMDLINE_LINUX), then reboot`);
}

function overlay(facts: CheckFacts): Finding {
  const name = "overlay";
  if (/^nodev\s+overlay$/m.test(readFact(facts, "proc/filesystems"))) return ok(name, "overlay file systems are there");
  const message = "the kernel knows no overlay file systems: images take much more room and containers start slowly";
  return warn(name, message, "modprobe overlay (and echo overlay > /etc/modules-load.d/skiff.conf)");
}

function forwarding(facts: CheckFacts): Finding {
  const name = "ip-forwarding";
  if (readFact(facts, "proc/sys/net/ipv4/ip_forward").trim() === "1") return ok(name, "IP forwarding is on");
  const message = "IP forwarding is off: pods reach nothing beyond this box until Skiff turns it on at start";
  return warn(name, message, "sysctl -w net.ipv4.ip_forward=1 (and put it into /etc/sysctl.d/skiff.conf)");
}

const inotifyLimits = [
  { limit: "max_user_instances", least: 128 },
  { limit: "max_user_watches", least: 8192 },
];

function inotify(facts: CheckFacts): Finding[] {
  return inotifyLimits.map(({ limit, least }) => {
    const name = `inotify-${limit.replaceAll("_", "-")}`;
    const value = Number(readFact(facts, `proc/sys/fs/inotify/${limit}`));
    if (value >= least) return ok(name, `fs.inotify.${limit} is ${value}`);
    const message = `fs.inotify.${limit} is ${value}: programs in pods that watch files will fail with "too many open files"`;
    return warn(name, message, `sysctl -w fs.inotify.${limit}=${least * 4} (and put it into /etc/sysctl.d/skiff.conf)`);
  });
}

async function network(facts: CheckFacts): Promise<Finding[]> {
  const problems = await facts.network();
  if (problems.length === 0) return [ok("network", "the kernel has nf_tables, bridges, veth and vxlan")];
  return problems.map(({ severity, problem, fix }) => (severity === "fatal" ? fail : warn)("network", problem, fix));
}
