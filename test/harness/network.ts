// For tests that need a kernel: moves the test's own thread into a network namespace made for it, which then plays the host.
// Nothing outside is touched, and everything inside is gone when the process ends.

import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { getLink, openRoutes, setLink } from "../../plugins/kit/os/net/links.ts";
import { createNetns, deleteNetns, inNetns, leaveForNewNetns } from "../../plugins/kit/os/net/netns.ts";

/** The reason why this machine cannot run such tests, or false; fits tap's `skip`. */
export function noNetworkReason(): string | false {
  if (process.getuid?.() !== 0) return "needs root";
  return false;
}

/** Why the FORWARD chain of the legacy iptables cannot be tried here, or false. */
export function noLegacyFirewallReason(): string | false {
  try {
    execFileSync("iptables-legacy", ["-S", "FORWARD"], { stdio: "ignore" });
    return false;
  } catch {
    return "no legacy iptables here";
  }
}

/** From here on this process is on a host of its own that has nothing but loopback. */
export async function playHost(): Promise<void> {
  leaveForNewNetns();
  const routes = openRoutes();
  await setLink(routes, (await getLink(routes, "lo")).index, { up: true });
  routes.close();
}

export function randomName(prefix: string): string {
  return `${prefix}${randomBytes(4).toString("hex")}`;
}

/** A namespace that goes away with the test. */
export function testNetns(t: { teardown(work: () => void): void }): string {
  const path = `/run/netns/${randomName("skiff-test-")}`;
  createNetns(path);
  t.teardown(() => deleteNetns(path));
  return path;
}

export type Transport = "tcp" | "udp";

/**
 * How long socat waits for the other direction once one has ended: half a second if nobody says more, which a busy machine takes to
 * start the server's shell.
 */
const patience = "-t30";

/** A server in a namespace (or on the host that this test plays) that answers each connection with `<name> <peer address>`. */
export async function serveIn(
  t: { teardown(work: () => void): void },
  netns: string | undefined,
  options: { port: number; name: string; transport?: Transport; family?: 4 | 6 },
): Promise<void> {
  const family = options.family ?? 4;
  const listen = { tcp: `TCP${family}-LISTEN`, udp: `UDP${family}-RECVFROM` }[options.transport ?? "tcp"];
  const args = [
    `${listen}:${options.port},fork,reuseaddr${family === 6 ? ",ipv6only=1" : ""}`,
    `SYSTEM:read line; echo ${options.name} $SOCAT_PEERADDR`,
  ];
  const start = () =>
    spawn("socat", ["-d", "-d", patience, ...args], { stdio: ["ignore", "ignore", "pipe"], detached: true });
  const child = netns ? inNetns(netns, start) : start();
  t.teardown(() => {
    // The whole group: socat forks a child per connection. It may be gone already.
    try {
      if (child.pid) process.kill(-child.pid, "SIGKILL");
    } catch {}
  });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.stderr.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      if (
        /listening on|receiving on|starting accept loop|UDP.*recvfrom|successfully connected|N starting/i.test(said) ||
        options.transport === "udp"
      )
        resolve();
    });
    child.on("exit", () => reject(new Error(`socat ended: ${said}`)));
  });
  child.removeAllListeners("exit");
}

/** What the server behind the address says, or "" when nothing answers. */
export function ask(
  netns: string | undefined,
  to: { address: string; port: number; transport?: Transport; sourcePort?: number; text?: string },
): Promise<string> {
  const six = to.address.includes(":");
  const target = `${(to.transport ?? "tcp").toUpperCase()}${six ? 6 : 4}:${six ? `[${to.address}]` : to.address}:${to.port}`;
  const source = to.sourcePort ? `,sourceport=${to.sourcePort},reuseaddr` : "";
  const timeout = to.transport === "udp" ? [] : [",connect-timeout=2"];
  const args = [patience, "-T30", "-", `${target}${source}${timeout.join("")}`];
  const start = () => spawn("socat", args, { stdio: ["pipe", "pipe", "ignore"] });
  const child = netns ? inNetns(netns, start) : start();
  child.stdin.on("error", () => {});
  child.stdin.end(to.text ?? "hello\n");
  return new Promise((resolve) => {
    let answer = "";
    child.stdout.on("data", (chunk: Buffer) => {
      answer += chunk.toString();
      // Nobody ends a conversation over UDP. Over TCP its end is awaited: an answer may come in several pieces.
      if (to.transport === "udp" && answer.includes("\n")) child.kill("SIGKILL");
    });
    child.on("close", () => resolve(answer.trim()));
  });
}
