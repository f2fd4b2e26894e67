// Docker in a booted box, on the systemd cgroup driver: this machine's own programs, run by the box's systemd.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { BootedBox } from "./booted-box.ts";
import { until } from "./until.ts";

const programs = ["dockerd", "containerd", "containerd-shim-runc-v2"];

/** Puts the programs into the box with the libraries that it lacks. Once is enough, reboots included. */
export function copyDocker(box: BootedBox): void {
  for (const name of programs) {
    const program = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    // A static one has no list.
    const listed = execFileSync("sh", ["-c", 'ldd "$0" 2>/dev/null || true', program], { encoding: "utf8" });
    const libraries = [...listed.matchAll(/=> (\/\S+)/g)].map(([, path = ""]) => path);
    cpSync(program, join(box.root, "usr/bin", name), { dereference: true });
    for (const path of libraries) {
      if (existsSync(join(box.root, path))) continue;
      mkdirSync(dirname(join(box.root, path)), { recursive: true });
      cpSync(path, join(box.root, path), { dereference: true });
    }
  }
}

export async function startBoxDocker(box: BootedBox): Promise<void> {
  const network = ["--bridge=none", "--iptables=false", "--ip6tables=false"];
  const options = ["--exec-opt=native.cgroupdriver=systemd", "--storage-driver=overlay2", ...network];
  await box.run("systemd-run", "--unit=docker", "-p", "Delegate=yes", "dockerd", ...options);
  await until("Docker in the box", () => box.run("test", "-S", "/var/run/docker.sock").then(() => true));
}
