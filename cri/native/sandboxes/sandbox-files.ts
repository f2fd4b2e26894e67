// The files every container of a pod sees: resolv.conf, hosts, hostname, and the shared memory they have in common.

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type DNSConfig, NamespaceMode, type PodSandboxConfig } from "../../api/gen/runtime.js";
import { Folder } from "../../../plugins/kit/os/safe-files/folder.ts";
import { libc } from "../kernel/libc.ts";
import { mountFlags } from "../kernel/mounts.ts";
import { namespaceModes } from "./sandbox-record.ts";

const shmOptions = "mode=1777,size=65536k";

/** The directory must not be there yet, or be empty. */
export function makeSandboxFiles(folder: string, config: PodSandboxConfig, hostname: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const texts = {
    "resolv.conf": resolvConf(config.dnsConfig),
    hostname: `${hostname}\n`,
    hosts: readIfThere("/etc/hosts"),
  };
  const made = Folder.open(folder);
  try {
    for (const [name, text] of Object.entries(texts)) made.makeFile(name, Buffer.from(text), { mode: 0o644 });
  } finally {
    made.close();
  }
  if (namespaceModes(config).ipc === NamespaceMode.NODE) return;
  mkdirSync(join(folder, "shm"), { recursive: true });
  libc.mount(
    "shm",
    join(folder, "shm"),
    "tmpfs",
    mountFlags.noSuid | mountFlags.noDevices | mountFlags.noExec,
    shmOptions,
  );
}

/** The pod's own resolver settings, or the host's where it has none. */
export function resolvConf(dns: DNSConfig | undefined, hostPath = "/etc/resolv.conf"): string {
  const isEmpty = !dns || (dns.servers.length === 0 && dns.searches.length === 0 && dns.options.length === 0);
  if (isEmpty) return readIfThere(hostPath);
  const lines = [
    ...(dns.searches.length > 0 ? [`search ${dns.searches.join(" ")}`] : []),
    ...dns.servers.map((server) => `nameserver ${server}`),
    ...(dns.options.length > 0 ? [`options ${dns.options.join(" ")}`] : []),
  ];
  return `${lines.join("\n")}\n`;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // A box without a resolver or a hosts file is bare, not broken.
    return "";
  }
}
