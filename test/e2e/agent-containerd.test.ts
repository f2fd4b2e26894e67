// The agent on a real containerd that the test starts itself: pods come, do what they should, and leave nothing behind.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openCgroupFiles } from "../../agent/resources/cgroup-files.ts";
import { openRemote } from "../../cri/remote/open.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { type Log, noLog } from "../../plugins/kit/base/log.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { boundPod, conditionOf, makeNamespaces, startNode } from "../harness/agent-node.ts";
import { startApi } from "../harness/api-server.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { busyboxImageName } from "../harness/images.ts";
import { leaks, machineState } from "../harness/machine-state.ts";
import { until } from "../harness/until.ts";

const image = busyboxImageName;
t.setTimeout(600_000);
const before = machineState();
/** Names of folders and cgroups that only this run uses. */
const marks: string[] = [];

t.test("the agent on containerd", { skip: withoutContainerd() }, async (t) => {
  const containerd = await startContainerd(t);
  const runtime = openRemote({ socket: containerd.socket });
  t.teardown(() => runtime.close());
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "default", "kube-system", "kube-node-lease");
  const manifestDir = await mkdtemp(join(tmpdir(), "skiff-manifests-"));
  t.teardown(() => rm(manifestDir, { recursive: true, force: true }));
  const cgroupRoot = `skiff-test-${process.pid}`;
  t.teardown(async () => void openCgroupFiles().remove(cgroupRoot));
  marks.push(containerd.dir, cgroupRoot);
  const config = { manifestDir, cgroupRoot, hostDevices: { "skiff.dev/full": ["/dev/full"] } };
  const { agent, dataDir } = await startNode(t, runtime, { api, config });
  marks.push(dataDir);
  await until("the node to be ready", () => agent.isReady());

  const path = (name: string) => `/api/v1/namespaces/default/pods/${name}`;
  const get = async (name: string): Promise<Pod | undefined> => {
    const { status, body } = await api.ask("GET", path(name));
    return status === 200 ? (body as Pod) : undefined;
  };
  const create = async (name: string, spec: Record<string, unknown> = {}) => {
    const { status, text } = await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod(name, spec));
    if (status !== 201) throw new Error(text);
  };
  const ready = (name: string) =>
    until(
      `${name} to be ready`,
      async () => (conditionOf(await get(name), "Ready") === "True" ? get(name) : undefined),
      60_000,
    );
  const phase = (name: string, wanted: string) =>
    until(
      `${name} to be ${wanted}`,
      async () => {
        const pod = await get(name);
        return pod?.status?.phase === wanted ? pod : undefined;
      },
      60_000,
    );
  const remove = async (name: string) => {
    await api.ask("DELETE", path(name));
    await until(`${name} to be gone`, async () => (await get(name)) === undefined, 60_000);
  };
  const exec = async (name: string, ...cmd: string[]) => {
    const handle = agent.view.container({ namespace: "default", pod: name, container: "main" });
    const { stdout } = await runtime.runtime.execSync(
      { containerId: handle.container.id, cmd, timeout: 10n },
      { signal: AbortSignal.timeout(20_000) },
    );
    return Buffer.from(stdout).toString("utf8");
  };

  await t.test("a pod from the manifest folder comes and goes", async (t) => {
    const manifest = `{ apiVersion: v1, kind: Pod, metadata: { name: st }, spec: { terminationGracePeriodSeconds: 1, containers: [{ name: main, image: "${image}", command: [sleep, "1000"] }] } }`;
    await writeFile(join(manifestDir, "st.yaml"), manifest);
    const pod = await ready("st-node");
    t.ok(pod.status?.podIP);
    await rm(join(manifestDir, "st.yaml"));
    await until("it to be gone", async () => (await get("st-node")) === undefined, 30_000);
  });

  await t.test("environment, volumes, user, hosts, hostname and resources reach the container", async (t) => {
    await api.ask("POST", "/api/v1/namespaces/default/configmaps", {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "cm" },
      data: { "a.txt": "hello", COLOUR: "blue" },
    });
    await create("full", {
      hostname: "named",
      subdomain: "sub",
      hostAliases: [{ ip: "1.2.3.4", hostnames: ["alias"] }],
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      volumes: [
        { name: "cm", configMap: { name: "cm" } },
        { name: "scratch", emptyDir: {} },
      ],
      containers: [
        {
          name: "main",
          image,
          command: ["sleep", "1000"],
          env: [{ name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } }],
          envFrom: [{ configMapRef: { name: "cm" } }],
          resources: { limits: { cpu: "500m", memory: "64Mi", "skiff.dev/full": "1" } },
          volumeMounts: [
            { name: "cm", mountPath: "/cm" },
            { name: "scratch", mountPath: "/scratch" },
          ],
        },
      ],
    });
    const pod = await ready("full");
    const env = await exec("full", "env");
    t.match(env, `IP=${pod.status?.podIP}`);
    t.match(env, "COLOUR=blue");
    t.equal(await exec("full", "cat", "/cm/a.txt"), "hello");
    t.match(await exec("full", "id"), /uid=1000.*2000/);
    t.equal((await exec("full", "hostname")).trim(), "named");
    t.match(await exec("full", "cat", "/etc/hosts"), /named\.sub\.default\.svc\.cluster\.local\tnamed\n/);
    t.match(await exec("full", "cat", "/etc/hosts"), /1\.2\.3\.4\talias/);
    t.match(await exec("full", "cat", "/etc/resolv.conf"), /nameserver 10\.43\.0\.10/);
    t.equal(pod.status?.qosClass, "Guaranteed");
    t.match(await exec("full", "cat", "/proc/self/cgroup"), `${cgroupRoot}/kubepods/pod${pod.metadata.uid}`);
    t.match(await exec("full", "ls", "/dev"), /\bfull\b/);
    await exec("full", "touch", "/scratch/x");
    await remove("full");
  });

  await t.test("jobs succeed and fail with their messages", async (t) => {
    const run = (command: string) => ({
      restartPolicy: "Never",
      containers: [{ name: "main", image, command: ["sh", "-c", command] }],
    });
    await create("good", run("echo done > /dev/termination-log"));
    await create("bad", run("exit 3"));
    const good = await phase("good", "Succeeded");
    t.match(good.status?.containerStatuses?.[0]?.state?.terminated, {
      exitCode: 0,
      reason: "Completed",
      message: "done\n",
    });
    const bad = await phase("bad", "Failed");
    t.match(bad.status?.containerStatuses?.[0]?.state?.terminated, { exitCode: 3, reason: "Error" });
    await Promise.all([remove("good"), remove("bad")]);
  });

  await t.test("init containers in order, a sidecar that stays, and a restart after a crash", async (t) => {
    await create("inits", {
      volumes: [{ name: "v", emptyDir: {} }],
      initContainers: [
        {
          name: "one",
          image,
          command: ["sh", "-c", "echo one >> /v/log"],
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
        { name: "side", image, restartPolicy: "Always", command: ["sleep", "1000"] },
        {
          name: "two",
          image,
          command: ["sh", "-c", "echo two >> /v/log"],
          volumeMounts: [{ name: "v", mountPath: "/v" }],
        },
      ],
      containers: [{ name: "main", image, command: ["sleep", "1000"], volumeMounts: [{ name: "v", mountPath: "/v" }] }],
    });
    await ready("inits");
    t.equal(await exec("inits", "cat", "/v/log"), "one\ntwo\n");
    const handle = agent.view.container({ namespace: "default", pod: "inits", container: "main" });
    await runtime.runtime.stopContainer(
      { containerId: handle.container.id, timeout: 0n },
      { signal: AbortSignal.timeout(10_000) },
    );
    const pod = await until(
      "the restart",
      async () => {
        const found = await get("inits");
        const status = found?.status?.containerStatuses?.[0];
        return status?.restartCount === 1 && status.ready ? found : undefined;
      },
      30_000,
    );
    t.equal(pod.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 137);
    t.equal(pod.status?.initContainerStatuses?.[1]?.restartCount, 0);
    await remove("inits");
  });

  await t.test("probes: readiness by HTTP and TCP, liveness by command", async () => {
    await create("probed", {
      containers: [
        {
          name: "main",
          image,
          command: [
            "sh",
            "-c",
            "touch /tmp/alive; mkdir /tmp/www; echo ok > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www",
          ],
          ports: [{ name: "http", containerPort: 8080 }],
          startupProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 30 },
          readinessProbe: { httpGet: { port: "http", path: "/index.html" }, periodSeconds: 1 },
          livenessProbe: { exec: { command: ["cat", "/tmp/alive"] }, periodSeconds: 1, failureThreshold: 1 },
        },
      ],
    });
    await ready("probed");
    await exec("probed", "rm", "/tmp/alive");
    await until(
      "the liveness restart",
      async () => (await get("probed"))?.status?.containerStatuses?.[0]?.restartCount === 1,
      30_000,
    );
    await ready("probed");
    await remove("probed");
  });

  await t.test("postStart and preStop run", async (t) => {
    const dir = join(dataDir, "shared");
    await create("hooked", {
      terminationGracePeriodSeconds: 10,
      volumes: [{ name: "h", hostPath: { path: dir, type: "DirectoryOrCreate" } }],
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", "trap 'exit 0' TERM; while true; do sleep 0.1; done"],
          volumeMounts: [{ name: "h", mountPath: "/h" }],
          lifecycle: {
            postStart: { exec: { command: ["sh", "-c", "echo started > /h/post"] } },
            preStop: { exec: { command: ["sh", "-c", "echo stopping > /h/pre"] } },
          },
        },
      ],
    });
    await ready("hooked");
    t.equal(await readFile(join(dir, "post"), "utf8"), "started\n");
    await remove("hooked");
    t.equal(await readFile(join(dir, "pre"), "utf8"), "stopping\n");
  });

  await t.test("a restarted agent touches no container", async (t) => {
    await create("steady", {
      containers: [
        {
          name: "main",
          image,
          command: ["sleep", "1000000"],
          volumeMounts: [
            { name: "cm", mountPath: "/cm" },
            { name: "self", mountPath: "/self" },
          ],
        },
      ],
      volumes: [
        { name: "cm", configMap: { name: "cm" } },
        { name: "self", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
      ],
    });
    const pod = await ready("steady");
    const cat = async (path: string) => {
      const [containerId = ""] = (pod.status?.containerStatuses ?? []).map((one) => one.containerID?.split("//")[1]);
      const request = { containerId, cmd: ["cat", path], timeout: 10n };
      const { stdout } = await runtime.runtime.execSync(request, { signal: AbortSignal.timeout(20_000) });
      return Buffer.from(stdout).toString("utf8");
    };
    const merge = { "content-type": "application/merge-patch+json" };
    await agent.close();
    await api.ask("PATCH", "/api/v1/namespaces/default/configmaps/cm", { data: { "a.txt": "changed" } }, merge);
    const { agent: second } = await startNode(t, runtime, { api, dataDir, config });
    await until("the second agent to know it", () =>
      second.view.pods().some(({ metadata }) => metadata.name === "steady"),
    );
    await until("a healthy pleg", () => second.view.unhealthy() === undefined);
    const after = await ready("steady");
    t.same(after.status?.containerStatuses, pod.status?.containerStatuses);
    await until("what changed while no agent ran", async () => (await cat("/cm/a.txt")) === "changed");
    await api.ask("PATCH", path("steady"), { metadata: { labels: { tier: "new" } } }, merge);
    await until("the new label", async () => (await cat("/self/labels")) === 'tier="new"');
    await second.close();
  });

  await t.test(
    "an agent whose clock is wrong at boot runs its pods, says so, and goes on when it is set",
    async (t) => {
      // The runtime's times lie in its future until then, as those of a clock that was set back do.
      let behindMs = Date.now();
      const clock = { ...systemClock, now: () => Date.now() - behindMs };
      const said: string[] = [];
      const note = (_: object, text?: string) => void said.push(text ?? "");
      const log = { ...noLog, info: note, warn: note } as Log;
      const { agent: third } = await startNode(t, runtime, { api, dataDir, config, clock, log });
      await until("it to say so", () => said.some((text) => text.startsWith("the clock is wrong")));
      const steady = await ready("steady");
      await create("early", {
        containers: [
          {
            name: "main",
            image,
            command: ["sleep", "1000000"],
            readinessProbe: { exec: { command: ["true"] }, initialDelaySeconds: 1, periodSeconds: 1 },
          },
        ],
      });
      await create("crasher", { containers: [{ name: "main", image, command: ["false"] }] });
      const early = await ready("early");
      t.match(early.status?.startTime, /^1970-01-01/);
      const restarts = (most: number) =>
        until(
          `restart ${most}`,
          async () => ((await get("crasher"))?.status?.containerStatuses?.[0]?.restartCount ?? 0) >= most,
          60_000,
        );
      await restarts(2);
      behindMs = 0;
      await until("the clock to be noticed", () => said.includes("the clock was set"), 20_000);
      await create("later");
      const later = await ready("later");
      t.notMatch(later.status?.startTime, /^1970/);
      for (const pod of [steady, early]) {
        const now = await get(pod.metadata.name ?? "");
        t.equal(conditionOf(now, "Ready"), "True");
        t.match(now?.status?.containerStatuses?.[0], {
          containerID: pod.status?.containerStatuses?.[0]?.containerID,
          restartCount: 0,
        });
      }
      for (const name of ["steady", "early", "crasher", "later"]) await remove(name);
      await third.close();
    },
  );

  const sandboxes = async () =>
    (await runtime.runtime.listPodSandbox({}, { signal: AbortSignal.timeout(5_000) })).items;
  await until("the runtime to be empty", async () => (await sandboxes()).length === 0);
  const left = ["", "burstable", "besteffort"].flatMap((folder) =>
    openCgroupFiles().children(`${cgroupRoot}/kubepods/${folder}`),
  );
  t.same(
    left.filter((name) => name.startsWith("pod")),
    [],
    "no pod's cgroup is left",
  );
});

t.test("nothing is left behind", { skip: withoutContainerd() }, async (t) => {
  // Other tests may run on this machine at the same time: only what bears our names counts.
  const ours = leaks(before, machineState()).filter((leak) => marks.some((mark) => leak.includes(mark)));
  t.same(ours, []);
});
