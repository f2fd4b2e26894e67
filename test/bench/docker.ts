// What plain Docker costs on this machine, beside which `-- idle` and `-- pods` can be read: the daemons and a shim for each container
// while nothing happens, and how long `docker run` takes. A daemon of its own, in a network of its own, with Docker's own settings.
//   npm run bench -- docker [seconds of the window, 60] [containers, 10]

import { execFile, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { openKernel } from "../../cni/net/kernel.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { withoutDocker } from "../harness/docker.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { killAll, processesNaming, unmountBelow, withDescendants } from "../harness/left-behind.ts";
import { playHost, testNetns } from "../harness/network.ts";
import { countersOf, reportCounters, sumOf } from "../harness/process-counters.ts";
import { until } from "../harness/until.ts";

const settleMs = 20_000;
const atOnce = 30;

export async function run([windowSeconds = "60", containers = "10"]: string[]): Promise<void> {
  const cannot = withoutDocker();
  if (cannot) throw new Error(`Docker cannot be measured here: it ${cannot}`);
  const undo: (() => void)[] = [];
  const dir = mkdtempSync(join(tmpdir(), "skiff-docker-bench-"));
  try {
    await ownNetwork((work) => undo.push(work));
    const startedAt = performance.now();
    const docker = await startDaemons(dir);
    console.log(`daemons start: ${seconds(startedAt)} s`);
    const archive = join(dir, "busybox.tar");
    writeFileSync(archive, await imageArchive(busyboxImage()));
    await docker("load", "-i", archive);
    const begin = (name: string) => docker("run", "-d", "--name", name, busyboxImageName, "sleep", "100000");
    const times: number[] = [];
    for (let index = 0; index < Number(containers); index++) {
      const begunAt = performance.now();
      await begin(`idle-${index}`);
      times.push(performance.now() - begunAt);
    }
    times.sort((a, b) => a - b);
    const median = times[Math.floor(times.length / 2)] ?? 0;
    console.log(`docker run to running: median ${median.toFixed(0)} ms of ${times.length}`);
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const shims = processesNaming(dir);
    const before = sumOf(shims.map(countersOf));
    await new Promise((resolve) => setTimeout(resolve, Number(windowSeconds) * 1000));
    const label = `dockerd, containerd and ${shims.length - 2} shims, ${containers} containers, ${windowSeconds} s`;
    reportCounters(label, before, sumOf(shims.map(countersOf)), Number(windowSeconds));
    const stoppedAt = performance.now();
    await docker("stop", "-t", "1", "idle-0");
    console.log(`docker stop (grace 1 s): ${((performance.now() - stoppedAt) / 1000).toFixed(2)} s`);
    const manyAt = performance.now();
    await Promise.all(Array.from({ length: atOnce }, (_, index) => begin(`more-${index}`)));
    console.log(`${atOnce} docker run at once: ${seconds(manyAt)} s`);
    const all = (await docker("ps", "-aq")).trim().split("\n");
    await docker("rm", "-f", ...all);
  } finally {
    killAll(withDescendants(processesNaming(dir)));
    unmountBelow(dir);
    rmSync(dir, { recursive: true, force: true });
    for (const work of undo.toReversed()) work();
  }
}

const seconds = (since: number) => ((performance.now() - since) / 1000).toFixed(2);

/** A way out that leads nowhere: Docker asks for one before it chooses its own addresses. */
async function ownNetwork(teardown: (work: () => void) => void): Promise<void> {
  await playHost();
  const kernel = openKernel();
  teardown(() => kernel.close());
  const wire = kernel.enter(testNetns({ teardown }));
  await kernel.host.createVeth({ name: "up0", peer: { name: "eth0", space: wire } });
  wire.close();
  const up = await kernel.host.getLink("up0");
  await kernel.host.setLink(up.index, { up: true });
  await kernel.host.addAddress(up.index, parsePrefix("198.51.100.1/24"));
  await kernel.host.addRoute({ family: 4, link: up.index, gateway: parseAddress("198.51.100.2") });
}

async function startDaemons(dir: string): Promise<(...args: string[]) => Promise<string>> {
  const config = join(dir, "containerd.toml");
  const lines = [
    `root = "${dir}/containerd"`,
    `state = "${dir}/state"`,
    "[grpc]",
    `address = "${dir}/containerd.sock"`,
  ];
  writeFileSync(config, ["version = 2", 'disabled_plugins = ["io.containerd.grpc.v1.cri"]', ...lines, ""].join("\n"));
  const sockets = [`--containerd=${dir}/containerd.sock`, `--host=unix://${dir}/docker.sock`];
  const places = [`--data-root=${dir}/root`, `--exec-root=${dir}/exec`, `--pidfile=${dir}/docker.pid`];
  // A machine of tests may not be allowed to make itself the last to be killed.
  const daemon = [...sockets, ...places, "--oom-score-adjust=0"];
  spawn("containerd", ["-c", config], { stdio: "ignore" }).unref();
  spawn("dockerd", daemon, { stdio: "ignore" }).unref();
  const run = promisify(execFile);
  const env = { ...process.env, DOCKER_HOST: `unix://${dir}/docker.sock` };
  const docker = async (...args: string[]) => (await run("docker", args, { env })).stdout;
  await until("Docker to answer", () => docker("version").catch(() => false), 60_000);
  return docker;
}
