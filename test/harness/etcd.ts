// Starts real etcd members on random loopback ports, each with a folder of its own; everything is gone with the test.

import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

export interface EtcdMember {
  readonly url: string;
  /** Undefined before the first start. */
  readonly pid: number | undefined;
  /** Ends it by SIGKILL and waits until it is gone. */
  kill(): Promise<void>;
  /** Starts it again on the same ports and folder. */
  start(): void;
}

/** Whoever ends the members: a test, or a benchmark. */
export interface Owner {
  teardown(end: () => unknown): unknown;
}

export interface EtcdTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** A reason to skip where etcd is not installed. */
export const noEtcd: string | false = (process.env["PATH"] ?? "").split(delimiter).some(hasEtcd)
  ? false
  : "etcd is not installed (Debian: etcd-server)";

function hasEtcd(folder: string): boolean {
  try {
    accessSync(join(folder, "etcd"), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A cluster of so many members; they may still be starting when it resolves. */
export async function startEtcd(t: Owner, count = 1, tls?: EtcdTls, root = tmpdir()): Promise<EtcdMember[]> {
  const folder = mkdtempSync(join(root, "skiff-etcd-"));
  const ports = await freePorts(count * 2);
  const scheme = tls ? "https" : "http";
  const peers = Array.from({ length: count }, (_, i) => `m${i}=http://127.0.0.1:${ports[count + i]}`);
  const members = peers.map((peer, i) => {
    const url = `${scheme}://127.0.0.1:${ports[i]}`;
    const peerUrl = peer.slice(peer.indexOf("=") + 1);
    const args = ["--name", `m${i}`, "--data-dir", join(folder, `m${i}`), "--initial-cluster", peers.join(",")];
    args.push("--listen-client-urls", url, "--advertise-client-urls", url);
    args.push("--listen-peer-urls", peerUrl, "--initial-advertise-peer-urls", peerUrl, "--log-level", "error");
    if (tls) {
      args.push("--cert-file", tls.certFile, "--key-file", tls.keyFile, "--trusted-ca-file", tls.caFile);
      args.push("--client-cert-auth");
    }
    return new Member(url, args);
  });
  for (const member of members) member.start();
  t.teardown(async () => {
    await Promise.all(members.map((member) => member.kill()));
    rmSync(folder, { recursive: true, force: true });
  });
  return members;
}

class Member implements EtcdMember {
  readonly url: string;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;

  constructor(url: string, args: readonly string[]) {
    this.url = url;
    this.#args = args;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  start(): void {
    this.#process = spawn("etcd", this.#args, { stdio: "ignore" });
  }

  async kill(): Promise<void> {
    const running = this.#process;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const gone = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGKILL");
    await gone;
  }
}

/** Ports that nobody listened on a moment ago. */
async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
