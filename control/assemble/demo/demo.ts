// `skiff demo`: shows in a few lines what a cluster does, on the one that runs on this box, and takes it down again.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { dialStream } from "../../../cri/stream/dial.ts";
import { type Call, within } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { withServer } from "../commands.ts";
import { demoImage } from "./image.ts";
import { demoImageName, demoNamespace, demoObjects, demoReplicas } from "./objects.ts";

type Print = (line: string) => void;

export interface DemoWish {
  readonly dataDir: string;
  /** `start`, or `remove` to take it down. */
  readonly action: string;
  readonly clusterDomain: string;
}

const patienceMs = 120_000;

export function demoCommand(wish: DemoWish, print: Print, call: Call): Promise<void> {
  if (wish.action !== "start" && wish.action !== "remove")
    throw new Fault("invalid", `skiff demo knows start and remove, not "${wish.action}"`);
  return withServer(wish.dataDir, async (client, server) => {
    if (wish.action === "remove") return remove(wish, client, print, call);
    await show({ ...wish, client, server, print }, within(patienceMs, call));
    if (process.stdin.isTTY && (await agreed("Take it down again? [Y/n] ", call)))
      return remove(wish, client, print, call);
    print("down     skiff demo remove takes it all away again");
  });
}

interface Show extends DemoWish {
  readonly client: ApiClient;
  readonly server: string;
  readonly print: Print;
}

async function show(demo: Show, call: Call): Promise<void> {
  const { client, print } = demo;
  const archive = join(demo.dataDir, "images", "skiff-demo.tar");
  mkdirSync(join(demo.dataDir, "images"), { recursive: true });
  const image = await demoImage(demoImageName, call);
  writeFileSync(archive, image);
  print(
    `image    ${demoImageName}: this box's busybox, ${(image.length / 1024 / 1024).toFixed(1)} MB, no registry asked`,
  );
  for (const [ref, object] of demoObjects) {
    await client.create(ref, object, call).catch((error: unknown) => {
      if (!isFault(error, "already-exists")) throw error;
    });
  }
  const pods = await readyPods(client, call);
  const names = pods.map(({ metadata }) => metadata.name);
  print(`pods     ${names.join(", ")}: ready`);
  const [first = ""] = names;
  const address = `http://web.${demoNamespace}.svc.${demo.clusterDomain}`;
  // A Service leads to its pods a moment after they are ready: the first answer is waited for.
  const script = `for i in $(seq 60); do wget -qO /dev/null ${address} && break; sleep 0.5; done; for i in 1 2 3 4 5 6; do wget -qO- ${address}; done`;
  const answers = await said(demo, first, ["sh", "-c", script], call);
  const distinct = new Set(answers.trim().split("\n"));
  print(`service  ${address} answered from ${distinct.size} pods: ${[...distinct].join(", ")}`);
  const path = `/api/v1/namespaces/${demoNamespace}/pods/${first}/log?limitBytes=200`;
  const log = await (await client.request(path, {}, call)).text();
  print(`logs     ${log.split("\n")[0]}`);
  const inside = await said(demo, first, ["sh", "-c", "echo hostname says $(hostname)"], call);
  print(`exec     ${inside.trim()}`);
  print(`stats    ${await used(client, call)}`);
}

async function readyPods(client: ApiClient, call: Call): Promise<Pod[]> {
  for (;;) {
    const { items } = await client.list<Pod>(
      resources.pods,
      { namespace: demoNamespace, labelSelector: "app=web" },
      call,
    );
    const isReady = ({ status }: Pod) =>
      status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True");
    const ready = items.filter(isReady);
    if (ready.length >= demoReplicas) return ready;
    await systemClock.sleep(200, call);
  }
}

/** What a command in the pod printed. */
async function said({ dataDir, server }: Show, pod: string, command: readonly string[], call: Call): Promise<string> {
  const pem = readFileSync(join(dataDir, "pki", "admin.pem"), "utf8");
  const tls = { ca: readFileSync(join(dataDir, "pki", "ca.crt"), "utf8"), cert: pem, key: pem };
  const query = new URLSearchParams({ stdout: "true" });
  for (const word of command) query.append("command", word);
  const url = `${server}/api/v1/namespaces/${demoNamespace}/pods/${pod}/exec?${query}`;
  let text = "";
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const { exitCode } = await dialStream({ url, tls }, { stdout }, call);
  if (exitCode !== 0) throw new Fault("internal", `The demo's command in pod ${pod} ended with exit code ${exitCode}`);
  return text;
}

interface PodMetrics {
  readonly metadata: { readonly name: string };
  readonly containers: readonly { readonly usage: { readonly cpu: string; readonly memory: string } }[];
}

async function used(client: ApiClient, call: Call): Promise<string> {
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${demoNamespace}/pods`;
  for (;;) {
    const response = await client.request(path, {}, call);
    const { items = [] } = (await response.json()) as { items?: PodMetrics[] };
    if (items.length > 0) {
      const rows = items.flatMap(({ containers }) => containers);
      const milli = rows.reduce((sum, { usage }) => sum + Number.parseInt(usage.cpu, 10) / 1e6, 0);
      const mib = rows.reduce((sum, { usage }) => sum + Number.parseInt(usage.memory, 10) / 1024, 0);
      return `${items.length} pods use ${milli.toFixed(1)}m CPU and ${mib.toFixed(1)} MiB of memory`;
    }
    await systemClock.sleep(500, call);
  }
}

async function remove({ dataDir }: DemoWish, client: ApiClient, print: Print, call: Call): Promise<void> {
  await client.delete(resources.namespaces, { name: demoNamespace }, call).catch((error: unknown) => {
    if (!isFault(error, "not-found")) throw error;
  });
  rmSync(join(dataDir, "images", "skiff-demo.tar"), { force: true });
  const patient = within(patienceMs, call);
  for (;;) {
    try {
      await client.get(resources.namespaces, { name: demoNamespace }, patient);
    } catch (error) {
      if (!isFault(error, "not-found")) throw error;
      return print("down     the demo and its namespace are gone");
    }
    await systemClock.sleep(200, patient);
  }
}

async function agreed(question: string, { signal }: Call): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^\s*(y|yes)?\s*$/i.test(await terminal.question(question, { signal }));
  } finally {
    terminal.close();
  }
}
