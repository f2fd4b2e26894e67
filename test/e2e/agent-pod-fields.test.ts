// What the fields of a pod do, on a real containerd: each row is a pod that says what it sees, and what it must say.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { withoutContainerd } from "../harness/containerd.ts";
import { busyboxImageName as image } from "../harness/images.ts";
import { RoughNode } from "../harness/rough-node.ts";

t.setTimeout(600_000);

interface Row {
  name: string;
  script: string;
  /** Of the container and of the pod, beside what every row has. */
  container?: Record<string, unknown>;
  pod?: Record<string, unknown>;
  says: RegExp | ((said: string) => boolean);
}

const mounted = (name: string, mountPath: string, more: object = {}) => ({ name, mountPath, ...more });
const namespaceOf = (kind: string) => readlinkSync(`/proc/self/ns/${kind}`);

const rows = (hostDir: string): Row[] => [
  {
    name: "capabilities",
    script: "grep CapEff /proc/self/status",
    container: { securityContext: { capabilities: { drop: ["ALL"], add: ["NET_RAW"] } } },
    says: /CapEff:\s+0000000000002000/,
  },
  {
    name: "privileged",
    script: "grep Seccomp: /proc/self/status; ls /dev",
    container: { securityContext: { privileged: true } },
    says: /Seccomp:\s+0[^]*loop-control/,
  },
  {
    name: "read-only-root",
    script: "touch /x || true",
    container: { securityContext: { readOnlyRootFilesystem: true } },
    says: /Read-only file system/,
  },
  { name: "seccomp-default", script: "grep Seccomp: /proc/self/status", says: /Seccomp:\s+2/ },
  {
    name: "seccomp-unconfined",
    script: "grep Seccomp: /proc/self/status",
    container: { securityContext: { seccompProfile: { type: "Unconfined" } } },
    says: /Seccomp:\s+0/,
  },
  {
    name: "no-new-privileges",
    script: "grep NoNewPrivs /proc/self/status",
    container: { securityContext: { allowPrivilegeEscalation: false } },
    says: /NoNewPrivs:\s+1/,
  },
  {
    name: "users-and-groups",
    script: "id",
    pod: { securityContext: { runAsUser: 1000, runAsGroup: 3000, supplementalGroups: [4000] } },
    says: /uid=1000\S* gid=3000 groups=\S*4000/,
  },
  {
    name: "sysctls",
    script: "cat /proc/sys/net/ipv4/ip_unprivileged_port_start",
    pod: { securityContext: { sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "77" }] } },
    says: /^77$/m,
  },
  {
    name: "host-network",
    script: "readlink /proc/self/ns/net",
    pod: { hostNetwork: true },
    says: (said) => said.includes(namespaceOf("net")),
  },
  {
    name: "own-network",
    script: "readlink /proc/self/ns/net",
    says: (said) => said.includes("net:[") && !said.includes(namespaceOf("net")),
  },
  {
    name: "host-pid",
    script: "readlink /proc/self/ns/pid",
    pod: { hostPID: true },
    says: (said) => said.includes(namespaceOf("pid")),
  },
  {
    name: "host-ipc",
    script: "readlink /proc/self/ns/ipc",
    pod: { hostIPC: true },
    says: (said) => said.includes(namespaceOf("ipc")),
  },
  {
    name: "shared-processes",
    script: "tr '\\0' ' ' < /proc/1/cmdline; echo; echo me $$",
    pod: { shareProcessNamespace: true },
    says: (said) => /pause/.test(said) && !/me 1$/m.test(said),
  },
  {
    name: "dns-none",
    script: "cat /etc/resolv.conf",
    pod: {
      dnsPolicy: "None",
      dnsConfig: { nameservers: ["192.0.2.53"], searches: ["one.test"], options: [{ name: "ndots", value: "2" }] },
    },
    says: /search one\.test\nnameserver 192\.0\.2\.53\noptions ndots:2/,
  },
  {
    name: "dns-default",
    script: "cat /etc/resolv.conf",
    pod: { dnsPolicy: "Default" },
    says: (said) => !said.includes("10.43.0.10"),
  },
  {
    name: "environment",
    script: "env",
    container: {
      args: [],
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "$(A)2 $(NONE) $$(A)" },
        { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
        { name: "CPUS", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
        { name: "KEY", valueFrom: { secretKeyRef: { name: "key", key: "key" } } },
        { name: "MAYBE", valueFrom: { configMapKeyRef: { name: "nowhere", key: "x", optional: true } } },
      ],
      envFrom: [{ prefix: "P_", configMapRef: { name: "settings" } }],
      resources: { limits: { cpu: "250m" } },
    },
    says: (said) =>
      ["B=12 $(NONE) $(A)", "NODE=node", "CPUS=250", "KEY=s3cret", "P_COLOUR=blue", "WEB_SERVICE_PORT=80"].every(
        (line) => said.includes(line),
      ) && !said.includes("MAYBE="),
  },
  {
    name: "sub-paths",
    script: "echo hello > /own/file; cat /all/sub-paths/file /one; ls -A /all",
    container: {
      env: [{ name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      volumeMounts: [
        mounted("data", "/all"),
        mounted("data", "/own", { subPathExpr: "$(POD)" }),
        mounted("map", "/one", { subPath: "COLOUR" }),
      ],
    },
    pod: {
      volumes: [
        { name: "data", emptyDir: {} },
        { name: "map", configMap: { name: "settings" } },
      ],
    },
    says: /hello\nbluesub-paths/,
  },
  {
    name: "host-paths",
    script: "cat /file; ls -d /made; cat /ro/file; touch /ro/x || true",
    container: {
      volumeMounts: [mounted("file", "/file"), mounted("made", "/made"), mounted("dir", "/ro", { readOnly: true })],
    },
    pod: {
      volumes: [
        { name: "file", hostPath: { path: join(hostDir, "file"), type: "File" } },
        { name: "made", hostPath: { path: join(hostDir, "made", "below"), type: "DirectoryOrCreate" } },
        { name: "dir", hostPath: { path: hostDir, type: "Directory" } },
      ],
    },
    says: /from the host[^]*\/made[^]*from the host[^]*Read-only/,
  },
  {
    name: "memory-volume",
    script: "df -k /mem | tail -1; stat -c '%g %a' /group",
    container: { volumeMounts: [mounted("mem", "/mem"), mounted("group", "/group")] },
    pod: {
      securityContext: { fsGroup: 2000 },
      volumes: [
        { name: "mem", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
        { name: "group", emptyDir: {} },
      ],
    },
    says: /tmpfs\s+1024 [^]*2000 2777/,
  },
  {
    name: "downward",
    script: "cat /facts/labels /facts/memory /facts/COLOUR",
    container: { volumeMounts: [mounted("facts", "/facts")], resources: { limits: { memory: "64Mi" } } },
    pod: {
      volumes: [
        {
          name: "facts",
          projected: {
            sources: [
              { configMap: { name: "settings" } },
              {
                downwardAPI: {
                  items: [
                    { path: "labels", fieldRef: { fieldPath: "metadata.name" } },
                    { path: "memory", resourceFieldRef: { containerName: "main", resource: "limits.memory" } },
                  ],
                },
              },
            ],
          },
        },
      ],
    },
    says: /downward[^]*67108864[^]*blue/,
  },
  {
    name: "working-directory",
    script: "pwd; hostname",
    container: { workingDir: "/tmp" },
    pod: { hostname: "chosen" },
    says: /\/tmp\n[^]*chosen/,
  },
];

/** The log as kubectl would show it. */
function said(node: RoughNode, pod: Pod): string {
  const folder = join(node.dataDir, "logs", "pods", `default_${pod.metadata.name}_${pod.metadata.uid}`, "main");
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), "utf8"))
    .join("")
    .replace(/^\S+ (stdout|stderr) [FP] /gm, "");
}

const isOver = (pod: Pod | undefined) => pod?.status?.phase === "Succeeded" || pod?.status?.phase === "Failed";

t.test("what the fields of a pod do", { skip: withoutContainerd(), timeout: 600_000 }, async (t) => {
  const node = await RoughNode.open(t);
  const hostDir = mkdtempSync(join(tmpdir(), "skiff-host-"));
  t.teardown(async () => rmSync(hostDir, { recursive: true, force: true }));
  writeFileSync(join(hostDir, "file"), "from the host\n");
  const post = async (path: string, body: object) => {
    const { status, text } = await node.api.ask("POST", path, body);
    if (status !== 201) throw new Error(text);
  };
  const own = "/api/v1/namespaces/default";
  const meta = (kind: string, name: string) => ({ apiVersion: "v1", kind, metadata: { name } });
  await post(`${own}/configmaps`, { ...meta("ConfigMap", "settings"), data: { COLOUR: "blue" } });
  await post(`${own}/secrets`, { ...meta("Secret", "key"), stringData: { key: "s3cret" } });
  await post(`${own}/services`, {
    ...meta("Service", "web"),
    spec: { clusterIP: "10.43.0.77", ports: [{ port: 80 }] },
  });
  for (const [name, handler] of Object.entries({ plain: "runc", strange: "no-such-handler" }))
    await post("/apis/node.k8s.io/v1/runtimeclasses", {
      apiVersion: "node.k8s.io/v1",
      kind: "RuntimeClass",
      metadata: { name },
      handler,
    });
  node.startAgent();
  const goAway = async (...names: string[]) => {
    for (const name of names) await node.remove(name);
    for (const name of names) await node.gone(name);
  };

  const all = rows(hostDir);
  const half = Math.ceil(all.length / 2);
  for (const batch of [all.slice(0, half), all.slice(half)]) {
    for (const { name, script, container = {}, pod = {} } of batch) {
      const main = { name: "main", image, command: ["sh", "-c", `exec 2>&1; ${script}`], ...container };
      await node.create(name, { restartPolicy: "Never", containers: [main], ...pod });
    }
    for (const { name, says } of batch) {
      await node.becomes(`${name} to end`, async () => isOver(await node.get(name)));
      const pod = (await node.get(name)) as Pod;
      const text = said(node, pod);
      const isRight = typeof says === "function" ? says(text) : says.test(text);
      t.ok(isRight && pod.status?.phase === "Succeeded", name, isRight ? {} : { said: text, status: pod.status });
    }
    await goAway(...batch.map(({ name }) => name));
  }

  await t.test("how pods end", async (t) => {
    const sleeper = (more: object = {}) => [{ name: "main", image, command: ["sleep", "1000000"], ...more }];
    await node.create("late", { activeDeadlineSeconds: 1, containers: sleeper() });
    const failing = { name: "init", image, command: ["sh", "-c", "echo why > /dev/termination-log; exit 4"] };
    await node.create("init-fails", { restartPolicy: "Never", initContainers: [failing], containers: sleeper() });
    const shout = {
      command: ["sh", "-c", "echo last words; exit 3"],
      terminationMessagePolicy: "FallbackToLogsOnError",
    };
    await node.create("words", { restartPolicy: "Never", containers: sleeper(shout) });
    await node.create("classed", {
      restartPolicy: "Never",
      runtimeClassName: "plain",
      containers: sleeper({ command: ["true"] }),
    });
    await node.create("misclassed", { runtimeClassName: "strange", containers: sleeper() });
    for (const name of ["late", "init-fails", "words", "classed"])
      await node.becomes(`${name} to end`, async () => isOver(await node.get(name)));
    t.match((await node.get("late"))?.status, { phase: "Failed", reason: "DeadlineExceeded" });
    t.match((await node.get("init-fails"))?.status, {
      phase: "Failed",
      initContainerStatuses: [{ state: { terminated: { exitCode: 4, message: "why\n" } } }],
    });
    t.match((await node.get("words"))?.status?.containerStatuses?.[0]?.state?.terminated, {
      exitCode: 3,
      message: "last words\n",
    });
    t.equal((await node.get("classed"))?.status?.phase, "Succeeded");
    await node.becomes("an event about the handler", async () => {
      const { body } = await node.api.ask("GET", `${own}/events`);
      return (body.items as { reason: string; message: string }[]).some(
        ({ reason, message }) => reason === "FailedCreatePodSandBox" && message.includes("no-such-handler"),
      );
    });
    const deaf = { command: ["sh", "-c", "trap '' TERM; while true; do sleep 1; done"] };
    await node.create("deaf", { terminationGracePeriodSeconds: 3600, containers: sleeper(deaf) });
    await node.ready("deaf");
    await node.api.ask("DELETE", `${own}/pods/deaf`, { gracePeriodSeconds: 0 });
    await node.gone("deaf");
    await goAway("late", "init-fails", "words", "classed", "misclassed");
    await node.nothingLeft();
  });

  await t.test("what changes while a pod runs", async (t) => {
    const patch = async (path: string, body: object, type = "strategic-merge-patch") => {
      const headers = { "content-type": `application/${type}+json` };
      const { status, text } = await node.api.ask("PATCH", `${own}/pods/live${path}`, body, headers);
      if (status !== 200) throw new Error(text);
    };
    const other = image.replace(/:[^:]*$/, ":other");
    await node.containerd.ctr("images", "tag", image, other);
    const resources = { requests: { cpu: "100m" }, limits: { cpu: "200m" } };
    const sleeper = { image, imagePullPolicy: "Never", command: ["sleep", "1000000"], resources };
    await node.create("live", {
      containers: [
        { name: "main", ...sleeper },
        { name: "side", ...sleeper },
      ],
    });
    await node.ready("live");
    const idsOf = async () =>
      Object.fromEntries(
        ((await node.get("live"))?.status?.containerStatuses ?? []).map(({ name, containerID }) => [name, containerID]),
      );
    const before = await idsOf();

    await patch("/resize", { spec: { containers: [{ name: "main", resources: { limits: { cpu: "400m" } } }] } });
    const main = () => node.containers("live").then((list) => list.find(({ metadata }) => metadata?.name === "main"));
    const quotaOf = async () => {
      const cmd = ["sh", "-c", "cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us || cut -d' ' -f1 /sys/fs/cgroup/cpu.max"];
      const request = { containerId: (await main())?.id ?? "", cmd, timeout: 10n };
      return Buffer.from((await node.runtime.runtime.execSync(request, node.call())).stdout)
        .toString("utf8")
        .trim();
    };
    await node.becomes("the new limit", async () => (await quotaOf()) === "40000");
    t.same(await idsOf(), before, "a resize restarts nothing");
    const unheardOf = { requests: { cpu: "4000" }, limits: { cpu: "4000" } };
    await patch("/resize", { spec: { containers: [{ name: "main", resources: unheardOf }] } });
    await node.becomes("a refusal", async () => (await node.get("live"))?.status?.["resize"] === "Infeasible");
    t.equal(await quotaOf(), "40000", "what the node does not have is not given");

    const debug = {
      name: "debug",
      image,
      command: ["sh", "-c", "tr '\\0' ' ' < /proc/1/cmdline; echo; sleep 1000000"],
      targetContainerName: "main",
    };
    await patch("/ephemeralcontainers", { spec: { ephemeralContainers: [debug] } });
    await node.becomes("the ephemeral container", async () => {
      const pod = (await node.get("live")) as Pod;
      if (!pod.status?.ephemeralContainerStatuses?.[0]?.state?.running) return false;
      const folder = join(node.dataDir, "logs", "pods", `default_live_${pod.metadata.uid}`, "debug");
      return readdirSync(folder).some((file) => readFileSync(join(folder, file), "utf8").includes(" F sleep 1000000"));
    });
    t.same(await idsOf(), before, "it sees the other's processes, and disturbs nobody");

    await patch("", { spec: { containers: [{ name: "side", image: other }] } });
    await node.becomes("the new image", async () => {
      const ids = await idsOf();
      return ids["side"] !== before["side"] && (await node.get("live"))?.status?.containerStatuses?.[1]?.ready;
    });
    t.equal((await idsOf())["main"], before["main"], "only what changed is restarted");
    await goAway("live");
    await node.nothingLeft();
  });

  await t.test("mounts travel as the pod asks", async (t) => {
    const shared = join(hostDir, "shared");
    mkdirSync(join(shared, "from-host"), { recursive: true });
    mkdirSync(join(shared, "from-pod"));
    execFileSync("mount", ["--bind", shared, shared]);
    execFileSync("mount", ["--make-rshared", shared]);
    t.teardown(async () => {
      execFileSync("sh", ["-c", `umount -R ${shared}`]);
    });
    const script =
      "mount -t tmpfs pod /both/from-pod && touch /both/from-pod/x; while true; do ls /in/from-host; sleep 0.2; done";
    await node.create("mounting", {
      containers: [
        {
          name: "main",
          image,
          command: ["sh", "-c", script],
          securityContext: { privileged: true },
          volumeMounts: [
            mounted("shared", "/both", { mountPropagation: "Bidirectional" }),
            mounted("shared", "/in", { mountPropagation: "HostToContainer" }),
          ],
        },
      ],
      volumes: [{ name: "shared", hostPath: { path: shared } }],
    });
    await node.ready("mounting");
    await node.becomes("the pod's mount on the host", () => readdirSync(join(shared, "from-pod")).includes("x"));
    execFileSync("mount", ["-t", "tmpfs", "host", join(shared, "from-host")]);
    writeFileSync(join(shared, "from-host", "hello-from-host"), "");
    await node.becomes("the host's mount in the pod", async () =>
      said(node, (await node.get("mounting")) as Pod).includes("hello-from-host"),
    );
    t.pass("both ways");
    await goAway("mounting");
    await node.nothingLeft();
  });
});
