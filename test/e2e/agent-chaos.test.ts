// The agent killed at 30 random moments of pods' lives, on a real containerd: several pods of different kinds are always on their way up or
// down, and an agent is started again each time. No container is restarted, nothing is left behind.

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openCgroupFiles } from "../../agent/resources/cgroup-files.ts";
import { withoutContainerd } from "../harness/containerd.ts";
import { busyboxImageName as image } from "../harness/images.ts";
import { RoughNode } from "../harness/rough-node.ts";

const kills = process.env["SKIFF_LONG"] ? 120 : 30;
t.setTimeout(600_000);

const patient = ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done"];
const settings = { name: "settings", configMap: { name: "settings" } };

interface Life {
  readonly spec: Record<string, unknown>;
  /** Ends by itself instead of becoming ready. */
  readonly isJob?: boolean;
}

const lives: Readonly<Record<string, Life>> = {
  plain: {
    spec: {
      initContainers: [{ name: "init", image, command: ["true"] }],
      containers: [
        {
          name: "main",
          image,
          command: patient,
          volumeMounts: [
            { name: "scratch", mountPath: "/scratch" },
            { name: "settings", mountPath: "/settings" },
          ],
        },
      ],
      volumes: [{ name: "scratch", emptyDir: { medium: "Memory" } }, settings],
    },
  },
  sidecar: {
    spec: {
      initContainers: [
        { name: "beside", image, command: patient, restartPolicy: "Always" },
        { name: "first", image, command: ["sh", "-c", "echo x > /data/x"], volumeMounts: [mountOf("data", "/data")] },
      ],
      containers: [
        {
          name: "main",
          image,
          command: patient,
          lifecycle: { preStop: { exec: { command: ["true"] } } },
          volumeMounts: [{ ...mountOf("data", "/x"), subPath: "x" }, mountOf("secret", "/secret")],
        },
      ],
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "secret", secret: { secretName: "key" } },
      ],
    },
  },
  job: {
    isJob: true,
    spec: {
      restartPolicy: "Never",
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", "cat /settings/COLOUR"],
          volumeMounts: [mountOf("settings", "/settings")],
        },
      ],
      volumes: [settings],
    },
  },
  probed: {
    spec: {
      hostNetwork: true,
      containers: ["one", "two"].map((name) => ({
        name,
        image,
        command: patient,
        readinessProbe: { exec: { command: ["true"] }, periodSeconds: 1 },
        volumeMounts: [mountOf("facts", "/facts")],
      })),
      volumes: [
        {
          name: "facts",
          projected: {
            sources: [
              { configMap: { name: "settings" } },
              { downwardAPI: { items: [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }] } },
            ],
          },
        },
      ],
    },
  },
};

function mountOf(name: string, mountPath: string) {
  return { name, mountPath };
}

const skip = withoutContainerd();

t.test(`the agent killed at ${kills} random moments of pods' lives`, { skip, timeout: 600_000 }, async (t) => {
  const node = await RoughNode.open(t);
  const inDefault = (kind: string, name: string) => ({ apiVersion: "v1", kind, metadata: { name } });
  const ask = (plural: string, body: object) => node.api.ask("POST", `/api/v1/namespaces/default/${plural}`, body);
  await ask("configmaps", { ...inDefault("ConfigMap", "settings"), data: { COLOUR: "blue" } });
  await ask("secrets", { ...inDefault("Secret", "key"), stringData: { key: "s3cret" } });
  node.startAgent();

  let isOver = false;
  let count = 0;
  const live = async (kind: string, { spec, isJob }: Life) => {
    const restarts: string[] = [];
    for (let round = 0; !isOver; round++) {
      const name = `${kind}-${round}`;
      await node.create(name, spec);
      // Some are deleted on their way up.
      if (round % 3 === 2) await new Promise((resolve) => setTimeout(resolve, randomInt(1, 1_000)));
      else if (isJob) await node.becomes(`${name} to end`, async () => isOverOf(await node.get(name)));
      else await node.ready(name);
      const status = (await node.get(name))?.status;
      for (const found of [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
        if (found.restartCount > 0) restarts.push(`${name}/${found.name}: ${JSON.stringify(found.lastState)}`);
      if (isJob && round % 3 !== 2) t.equal(status?.phase, "Succeeded", `${name} has ended well`);
      await node.remove(name);
      await node.gone(name);
      count++;
    }
    t.same(restarts, [], `no container of a ${kind} pod was restarted`);
  };
  const running = Promise.all(Object.entries(lives).map(([kind, life]) => live(kind, life)));
  let failure: unknown;
  running.catch((error: unknown) => (failure = error));

  let startMs = 0;
  for (let kill = 0; kill < kills && failure === undefined; kill++) {
    // Every third agent may die before it has begun; the others work for a moment.
    if (kill % 3 !== 0) startMs = (await node.agentRuns()).tookMs;
    // A busy machine needs longer for the same steps.
    const longestMs = Math.ceil(Math.min(Math.max(1_500, startMs), 4_000));
    await new Promise((resolve) => setTimeout(resolve, randomInt(1, longestMs)));
    await node.killAgent();
    node.startAgent();
  }
  isOver = true;
  await running;
  t.comment(`${count} pods lived and went`);
  await node.nothingLeft();
});

t.test(
  "processes left in a pod's cgroup are killed, of a pod that stops and of one found at start",
  {
    skip,
    timeout: 600_000,
  },
  async (t) => {
    const node = await RoughNode.open(t);
    const files = openCgroupFiles();
    const hierarchy = files.version === 2 ? "" : "pids";
    /** As runc leaves it when containerd forgets a container between create and start. */
    const orphanIn = (pod: string) => {
      files.make(`${pod}/lost`);
      const orphan = spawn("sleep", ["1000"], { stdio: "ignore" });
      t.teardown(() => orphan.kill("SIGKILL"));
      writeFileSync(join("/sys/fs/cgroup", hierarchy, pod, "lost/cgroup.procs"), String(orphan.pid));
      return once(orphan, "exit");
    };
    const earlier = orphanIn(`/${node.cgroupRoot}/kubepods/besteffort/podof-an-earlier-agent`);
    node.startAgent();
    t.same(await earlier, [null, "SIGKILL"], "of a pod that this agent never knew");

    await node.create("plain", { containers: [{ name: "main", image, command: patient }] });
    await node.ready("plain");
    const uid = (await node.get("plain"))?.metadata.uid;
    const later = orphanIn(`/${node.cgroupRoot}/kubepods/besteffort/pod${uid}`);
    await node.remove("plain");
    await node.gone("plain");
    t.same(await later, [null, "SIGKILL"], "of a pod that stopped");
    await node.becomes("the events", async () => {
      const { body } = await node.api.ask("GET", "/api/v1/events");
      const of = (body as { items: { reason: string; involvedObject: { kind: string } }[] }).items.flatMap((event) =>
        event.reason === "KilledOrphanedProcesses" ? [event.involvedObject.kind] : [],
      );
      return of.includes("Pod") && of.includes("Node");
    });
    await node.nothingLeft();
  },
);

function isOverOf(pod: { status?: { phase?: string } } | undefined): boolean {
  return pod?.status?.phase === "Succeeded" || pod?.status?.phase === "Failed";
}
