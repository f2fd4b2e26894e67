// How long pods take to start and stop, one and twenty at once, how long a command takes, and what the runtime's own processes hold
// in memory per pod: the native runtime beside containerd and Docker, in one run on one machine.

import { readFileSync } from "node:fs";
import * as cri from "../../cri/api/gen/runtime.js";
import type { Runtime } from "../../cri/api/contract.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { busyboxImageName } from "../harness/images.ts";
import { processesNaming, withDescendants } from "../harness/left-behind.ts";
import { startNative, withoutNative } from "../harness/native.ts";

interface Contestant {
  readonly name: string;
  readonly runtime: Runtime;
  /** The runtime's own processes, without what runs in containers. */
  processes(): number[];
  stop(): Promise<void>;
}

/** Milliseconds of each round, but for memory. */
interface Samples {
  readonly start: number[];
  readonly stop: number[];
  readonly exec: number[];
  readonly start20: number[];
  readonly stop20: number[];
  readonly memoryMb10: number[];
}

const rounds = 15;
const crowds = 5;

/** `npm run bench -- runtime [native|containerd|docker]` */
export async function run(args: string[]): Promise<void> {
  const openers = { native: openNative, containerd: openContainerd, docker: openDocker };
  const contestants: [Contestant, Samples][] = [];
  try {
    for (const [name, open] of Object.entries(openers)) {
      if (args[0] && args[0] !== name) continue;
      const opened = await open();
      if (typeof opened === "string") console.log(`skipped: ${opened}`);
      else contestants.push([opened, { start: [], stop: [], exec: [], start20: [], stop20: [], memoryMb10: [] }]);
    }
    await measure(contestants);
  } finally {
    for (const [contestant] of contestants) await contestant.stop();
  }
  tell(contestants.map(([{ name }, samples]) => [name, samples]));
}

/** In turn, round by round, so that whatever else the machine does falls on all alike. The first of a kind warms up and does not count. */
async function measure(contestants: readonly [Contestant, Samples][]): Promise<void> {
  for (let round = 0; round <= rounds; round++) {
    for (const [contestant, samples] of contestants) await one(contestant, round, round > 0 ? samples : undefined);
  }
  for (const [contestant, samples] of contestants) await ten(contestant, samples);
  for (let round = 0; round <= crowds; round++) {
    for (const [contestant, samples] of contestants) await twenty(contestant, round, round > 0 ? samples : undefined);
  }
}

async function one({ runtime }: Contestant, round: number, samples: Samples | undefined): Promise<void> {
  const began = performance.now();
  const pod = await startPod(runtime, `one-${round}`);
  const started = performance.now();
  const request = cri.ExecSyncRequest.create({ containerId: pod.containerId, cmd: ["true"], timeout: 30n });
  await runtime.runtime.execSync(request, call);
  const executed = performance.now();
  await removePod(runtime, pod);
  samples?.start.push(started - began);
  samples?.exec.push(executed - started);
  samples?.stop.push(performance.now() - executed);
}

async function ten({ runtime, processes }: Contestant, samples: Samples): Promise<void> {
  const pods = await Promise.all(Array.from({ length: 10 }, (_, at) => startPod(runtime, `ten-${at}`)));
  samples.memoryMb10.push(memoryMb(processes()));
  await Promise.all(pods.map((pod) => removePod(runtime, pod)));
}

async function twenty({ runtime }: Contestant, round: number, samples: Samples | undefined): Promise<void> {
  const began = performance.now();
  const pods = await Promise.all(Array.from({ length: 20 }, (_, at) => startPod(runtime, `crowd-${round}-${at}`)));
  const started = performance.now();
  await Promise.all(pods.map((pod) => removePod(runtime, pod)));
  samples?.start20.push(started - began);
  samples?.stop20.push(performance.now() - started);
}

const rows: readonly [label: string, key: keyof Samples, goal?: number][] = [
  ["pod start, one (ms)", "start", 1],
  ["pod stop and removal, one (ms)", "stop"],
  ["20 pods at once, all started (ms)", "start20", 1],
  ["20 pods at once, all gone (ms)", "stop20"],
  ["command in a container (ms)", "exec"],
  ["memory of the runtime's processes, 10 pods (MB, proportional)", "memoryMb10", 0.25],
];

/** Medians, and the median of the ratios of each round: a slow moment of the machine counts once, not for one of them only. */
function tell(found: readonly (readonly [name: string, samples: Samples])[]): void {
  const [first, second] = found;
  const names = found.map(([name]) => name.padStart(12)).join("");
  console.log(`${"medians".padEnd(64)}${names}${second ? `${first?.[0]} / ${second[0]}`.padStart(22) : ""}`);
  for (const [label, key, goal] of rows) {
    const values = found.map(([, samples]) => median(samples[key]).toFixed(1).padStart(12)).join("");
    const ratios = first?.[1][key].map((mine, at) => mine / (second?.[1][key][at] ?? Number.NaN)) ?? [];
    const ratio = second ? median(ratios) : undefined;
    const verdict =
      ratio !== undefined && goal !== undefined ? ` (at most ${goal}: ${ratio <= goal ? "yes" : "no"})` : "";
    console.log(`${label.padEnd(64)}${values}${ratio === undefined ? "" : ratio.toFixed(2).padStart(22)}${verdict}`);
  }
}

async function openNative(): Promise<Contestant | string> {
  const unfit = withoutNative();
  if (unfit) return `native ${unfit}`;
  const cleanUps: (() => Promise<void>)[] = [];
  const native = await startNative({ teardown: (then) => void cleanUps.push(then) });
  const conmons = () => processesNaming(native.dir).filter((pid) => isNamed(pid, "conmon"));
  const stop = async () => {
    for (const then of cleanUps.reverse()) await then();
  };
  return { name: "native", runtime: native.current(), processes: conmons, stop };
}

async function openContainerd(): Promise<Contestant | string> {
  const unfit = withoutContainerd();
  if (unfit) return `containerd ${unfit}`;
  const cleanUps: (() => Promise<void>)[] = [];
  const containerd = await startContainerd({ teardown: (then) => void cleanUps.push(then) });
  const runtime = openRemote({ socket: containerd.socket });
  const own = () =>
    withDescendants(processesNaming(containerd.dir)).filter(
      (pid) => isNamed(pid, "containerd") || isNamed(pid, "pause"),
    );
  const stop = async () => {
    await runtime.close();
    for (const then of cleanUps.reverse()) await then();
  };
  return { name: "containerd", runtime, processes: own, stop };
}

async function openDocker(): Promise<Contestant | string> {
  const unfit = withoutDocker();
  if (unfit) return `docker ${unfit}`;
  const cleanUps: (() => Promise<void>)[] = [];
  const docker = await startDocker({ teardown: (then) => void cleanUps.push(then) });
  const own = () =>
    docker.processes().filter((pid) => ["containerd", "dockerd", "pause"].some((name) => isNamed(pid, name)));
  const stop = async () => {
    for (const then of cleanUps.reverse()) await then();
  };
  return { name: "docker", runtime: docker.current(), processes: own, stop };
}

function isNamed(pid: number, name: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").startsWith(name);
  } catch {
    // Gone between two looks.
    return false;
  }
}

/** Proportional set size: what is shared is counted once among all that share it. */
function memoryMb(pids: readonly number[]): number {
  const kilobytes = pids.map((pid) =>
    Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1] ?? 0),
  );
  return kilobytes.reduce((sum, value) => sum + value, 0) / 1024;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

interface BenchPod {
  readonly podSandboxId: string;
  readonly containerId: string;
}

async function startPod({ runtime }: Runtime, name: string): Promise<BenchPod> {
  const config = cri.PodSandboxConfig.create({
    metadata: { name, uid: name, namespace: "bench", attempt: 0 },
    hostname: name,
    linux: { securityContext: { namespaceOptions: { pid: cri.NamespaceMode.CONTAINER } } },
  });
  const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  const create = cri.CreateContainerRequest.create({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "main", attempt: 0 },
      image: { image: busyboxImageName },
      command: ["sleep", "1000"],
      linux: { securityContext: { namespaceOptions: { pid: cri.NamespaceMode.CONTAINER } } },
    },
  });
  const { containerId } = await runtime.createContainer(create, call);
  await runtime.startContainer({ containerId }, call);
  return { podSandboxId, containerId };
}

async function removePod({ runtime }: Runtime, { podSandboxId, containerId }: BenchPod): Promise<void> {
  await runtime.stopContainer({ containerId, timeout: 0n }, call);
  await runtime.stopPodSandbox({ podSandboxId }, call);
  await runtime.removePodSandbox({ podSandboxId }, call);
}
