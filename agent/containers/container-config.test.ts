import t from "tap";
import { NamespaceMode, SecurityProfile_ProfileType as ProfileType } from "../../cri/api/gen/runtime.js";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { ConfigMap, Container, PodSpec, Secret, Service } from "../../plugins/kit/kube/objects/types.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { containerConfig, type ContainerFacts } from "./container-config.ts";
import { dnsConfigOf, parseResolver } from "./dns.ts";
import { fieldValue, resourceValue } from "../../plugins/kit/kube/objects/downward.ts";
import { environmentOf } from "./environment.ts";
import { expand } from "../../plugins/kit/kube/objects/expansion.ts";
import { kernelHostname } from "./hostname.ts";
import { hostsFile } from "./hosts-file.ts";
import { containerResources, podResourceSum } from "./resources.ts";
import { sandboxConfig } from "./sandbox-config.ts";

function pod(spec: Partial<PodSpec> = {}, annotations: Record<string, string> = {}): AgentPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "web", namespace: "shop", uid: "u1", labels: { b: "2", a: 'x"y' }, annotations },
    spec: { containers: [{ name: "a", image: "busybox" }], ...spec },
  };
}

const facts: ContainerFacts = {
  restartCount: 2,
  imageRef: "sha256:1",
  environment: new Map([["WHO", "world"]]),
  mounts: [],
  devices: [],
  cdiDevices: [],
  annotations: {},
  cpuset: "",
  runtimeHandler: "",
  imageUser: { username: "" },
  volumeGroups: [],
  hasAppArmor: true,
  seccompDefault: true,
  seccompDir: "/seccomp",
  memoryCapacityBytes: 1n << 30n,
  cgroupVersion: 1,
  hasMemoryController: true,
  hasSwapController: false,
};
const security = (own: Container["securityContext"], spec: Partial<PodSpec> = {}, more: Partial<ContainerFacts> = {}) =>
  containerConfig(pod(spec), { name: "a", ...(own ? { securityContext: own } : {}) }, { ...facts, ...more }).linux
    ?.securityContext;

t.test("expand()", async (t) => {
  const lookup = (name: string) => ({ A: "1", B: "$(A)" })[name];
  const cases: [string, string][] = [
    ["$(A)", "1"],
    ["$$(A)", "$(A)"],
    ["$(NO)", "$(NO)"],
    ["$(B)", "$(A)"],
    ["a$", "a$"],
    ["$A$(A", "$A$(A"],
    ["$$$(A)", "$1"],
    ["x$(A)y$(A)", "x1y1"],
  ];
  for (const [text, expected] of cases) t.equal(expand(text, lookup), expected, text);
});

t.test("containerConfig() carries identity, command and logs", async (t) => {
  const config = containerConfig(
    pod({ terminationGracePeriodSeconds: 5 }),
    { name: "a", image: "busybox", command: ["echo", "$(WHO)"], lifecycle: { preStop: { sleep: { seconds: 1 } } } },
    facts,
  );
  t.same(config.command, ["echo", "world"]);
  t.equal(config.logPath, "a/2.log");
  t.match(config.labels, { "io.kubernetes.pod.uid": "u1", "io.kubernetes.container.name": "a" });
  t.match(config.annotations, {
    "io.kubernetes.container.restartCount": "2",
    "io.kubernetes.pod.terminationGracePeriod": "5",
    "io.kubernetes.container.preStopHandler": '{"sleep":{"seconds":1}}',
  });
});

t.test("containerSecurity() merges pod and container", async (t) => {
  const podContext = { runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000, supplementalGroups: [4000, 3000] };
  const merged = security({ runAsUser: 7 }, { securityContext: podContext });
  t.equal(merged?.runAsUser?.value, 7n);
  t.equal(merged?.runAsGroup?.value, 2000n);
  t.same(merged?.supplementalGroups, [3000n, 4000n]);
  t.equal(merged?.seccomp?.profileType, ProfileType.RuntimeDefault, "RuntimeDefault without a word");
  t.equal(security({ seccompProfile: { type: "Unconfined" } })?.seccomp?.profileType, ProfileType.Unconfined);
  t.equal(
    security({ seccompProfile: { type: "Localhost", localhostProfile: "a.json" } })?.seccomp?.localhostRef,
    "/seccomp/a.json",
  );
  t.equal(security({ procMount: "Unmasked" })?.maskedPaths.length, 0);
  t.equal(security({ allowPrivilegeEscalation: false })?.noNewPrivs, true);
  t.equal(security({}, {}, { imageUser: { username: "www" } })?.runAsUsername, "www");
  t.equal(security({ appArmorProfile: { type: "Localhost", localhostProfile: "p" } })?.apparmor?.localhostRef, "p");
  t.equal(security({ appArmorProfile: { type: "RuntimeDefault" } }, {}, { hasAppArmor: false })?.apparmor, undefined);
});

t.test("containerSecurity() holds to runAsNonRoot", async (t) => {
  t.throws(() => security({ runAsNonRoot: true }), /image will run as root/);
  t.throws(() => security({ runAsNonRoot: true, runAsUser: 0 }), /breaks non-root policy/);
  t.throws(() => security({ runAsNonRoot: true }, {}, { imageUser: { username: "www" } }), /non-numeric user \(www\)/);
  t.ok(security({ runAsNonRoot: true }, {}, { imageUser: { uid: 5n, username: "" } }));
});

t.test("namespaces follow the pod", async (t) => {
  t.equal(security({}, { shareProcessNamespace: true })?.namespaceOptions?.pid, NamespaceMode.POD);
  t.equal(security({}, { hostPID: true })?.namespaceOptions?.pid, NamespaceMode.NODE);
  t.equal(security({}, { hostNetwork: true })?.namespaceOptions?.network, NamespaceMode.NODE);
  t.equal(security({}, {}, { targetId: "x" })?.namespaceOptions?.pid, NamespaceMode.TARGET);
});

t.test("containerResources()", async (t) => {
  const of = (resources: Container["resources"], more: Partial<ContainerFacts> = {}) => {
    const container: Container = { name: "a", ...(resources ? { resources } : {}) };
    return containerResources(pod({ containers: [container] }), container, { ...facts, ...more });
  };
  t.match(of({}), { cpuShares: 2n, cpuQuota: 0n, memoryLimitInBytes: 0n, oomScoreAdj: 1000n });
  t.match(of({ limits: { cpu: "500m", memory: "64Mi" } }), {
    cpuShares: 512n,
    cpuQuota: 50_000n,
    memoryLimitInBytes: 67_108_864n,
    oomScoreAdj: -997n,
  });
  t.match(of({ requests: { memory: "512Mi" } }), { oomScoreAdj: 500n });
  t.match(of({ limits: { cpu: "1m" } }), { cpuQuota: 1000n, cpuShares: 2n });
  t.match(of({ limits: { memory: "64Mi" } }, { hasMemoryController: false }), { memoryLimitInBytes: 0n });
  t.same(of({}).unified, {}, "version 1 has no such files");
  t.same(of({}, { cgroupVersion: 2 }).unified, { "memory.oom.group": "1" });
  const noSwap = { "memory.oom.group": "1", "memory.swap.max": "0" };
  t.same(of({}, { cgroupVersion: 2, hasSwapController: true }).unified, noSwap, "also without a memory limit");
  t.same(of({ limits: { "hugepages-2Mi": "4Mi" } }).hugepageLimits, [{ pageSize: "2MB", limit: 4_194_304n }]);
});

t.test("podResourceSum() takes the larger of init and regular containers", async (t) => {
  const cpu = (value: string, more: Partial<Container> = {}): Container => ({
    name: value,
    resources: { requests: { cpu: value } },
    ...more,
  });
  const spec = {
    initContainers: [cpu("100m", { restartPolicy: "Always" }), cpu("900m")],
    containers: [cpu("200m"), cpu("300m")],
    overhead: { cpu: "10m" },
  };
  t.equal(podResourceSum(pod(spec), "requests", "cpu"), 1010n);
});

t.test("environmentOf()", async (t) => {
  const service = (namespace: string, name: string, clusterIP: string): Service => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name },
    spec: { clusterIP, ports: [{ port: 443, name: "https" }] },
  });
  const objects = {
    services: () => [
      service("default", "kubernetes", "10.43.0.1"),
      service("shop", "my-db", "10.43.0.9"),
      service("shop", "none", "None"),
    ],
    configMap: async (_: string, name: string): Promise<ConfigMap> => {
      if (name !== "cm") throw new Fault("not-found", "no");
      return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { K: "v", "with.dot": "d" } };
    },
    secret: async (_: string, name: string): Promise<Secret> => {
      if (name !== "s") throw new Fault("not-found", "no");
      return {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name },
        data: { P: Buffer.from("pass").toString("base64") },
      };
    },
  };
  const down = {
    pod: pod(),
    podIps: ["10.1.0.2", "fd00::2"],
    hostIps: ["1.2.3.4"],
    nodeName: "n",
    allocatable: { cpu: "4" },
  };
  const env = (container: Partial<Container>, p = pod()) =>
    environmentOf({ name: "a", ...container }, { ...down, pod: p }, objects, uninterrupted);

  const all = await env({
    envFrom: [
      { configMapRef: { name: "cm" }, prefix: "C_" },
      { secretRef: { name: "s" } },
      { secretRef: { name: "gone", optional: true } },
    ],
    env: [
      { name: "X", value: "1" },
      { name: "Y", value: "$(X)-$(C_K)-$(MY_DB_SERVICE_HOST)" },
      { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
      { name: "L", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
      { name: "PW", valueFrom: { secretKeyRef: { name: "s", key: "P" } } },
      { name: "MY_DB_PORT", value: "mine" },
    ],
  });
  t.equal(all.get("Y"), "1-v-10.43.0.9");
  t.match(Object.fromEntries(all), {
    IP: "10.1.0.2",
    L: "4",
    PW: "pass",
    P: "pass",
    "C_with.dot": "d",
    MY_DB_PORT: "mine",
  });
  t.match(Object.fromEntries(all), { KUBERNETES_SERVICE_HOST: "10.43.0.1", MY_DB_PORT_443_TCP: "tcp://10.43.0.9:443" });
  const without = await env({}, pod({ enableServiceLinks: false }));
  t.notOk(without.has("MY_DB_SERVICE_HOST"));
  t.ok(without.has("KUBERNETES_SERVICE_HOST"), "the API server's own is always told");
  await t.rejects(env({ envFrom: [{ configMapRef: { name: "gone" } }] }), { message: 'configmap "gone" not found' });
  await t.rejects(env({ env: [{ name: "Z", valueFrom: { configMapKeyRef: { name: "cm", key: "no" } } }] }), {
    message: "couldn't find key no in ConfigMap shop/cm",
  });
});

t.test("fieldValue() and resourceValue()", async (t) => {
  const down = { pod: pod({}, { n: "note" }), podIps: [], hostIps: [], nodeName: "n", allocatable: { memory: "1Gi" } };
  t.equal(fieldValue(down, "metadata.labels"), 'a="x\\"y"\nb="2"');
  t.equal(fieldValue(down, "metadata.annotations['n']"), "note");
  t.equal(
    resourceValue(down, { name: "a", resources: { requests: { cpu: "1500m" } } }, "requests.cpu", undefined),
    "2",
  );
  t.equal(resourceValue(down, { name: "a" }, "limits.memory", "1Mi"), "1024");
  t.throws(() => fieldValue(down, "spec.secret"), /unsupported fieldPath/);
});

t.test("dnsConfigOf()", async (t) => {
  const host = parseResolver("nameserver 9.9.9.9\nsearch lan. home\noptions rotate\n");
  const dns = (spec: Partial<PodSpec>, clusterDns = ["10.43.0.10"]) =>
    dnsConfigOf(pod(spec), { clusterDns, clusterDomain: "cluster.local", host });
  t.same(dns({}), {
    servers: ["10.43.0.10"],
    searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "lan", "home"],
    options: ["ndots:5"],
    warnings: [],
  });
  t.same(dns({ hostNetwork: true }).servers, ["9.9.9.9"]);
  t.same(dns({ hostNetwork: true, dnsPolicy: "ClusterFirstWithHostNet" }).servers, ["10.43.0.10"]);
  t.match(dns({}, []).warnings[0]?.message, /does not have ClusterDNS IP configured/);
  const own = dns({
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["1.1.1.1", "2", "3", "4"], options: [{ name: "ndots", value: "2" }, { name: "edns0" }] },
  });
  t.same(own.servers, ["1.1.1.1", "2", "3"]);
  t.same(own.options, ["ndots:2", "edns0"]);
  t.match(own.warnings[0]?.message, /Nameserver limits were exceeded/);
});

t.test("hostsFile() and kernelHostname()", async (t) => {
  const facts = { podIps: ["10.1.0.2"], clusterDomain: "cluster.local", hostFile: "127.0.0.1 me\n" };
  const text = hostsFile(
    pod({ hostname: "h", subdomain: "sub", hostAliases: [{ ip: "1.1.1.1", hostnames: ["a", "b"] }] }),
    facts,
  );
  t.match(text, "10.1.0.2\th.sub.shop.svc.cluster.local\th\n");
  t.ok(text.endsWith("# Entries added by HostAliases.\n1.1.1.1\ta\tb\n"));
  t.match(hostsFile(pod({ hostNetwork: true }), facts), /host network\)\.\n127\.0\.0\.1 me/);
  t.equal(kernelHostname(pod({ hostname: "h", subdomain: "s", setHostnameAsFQDN: true }), "c.l"), "h.s.shop.svc.c.l");
  t.throws(
    () => kernelHostname(pod({ hostname: "h".repeat(60), subdomain: "s", setHostnameAsFQDN: true }), "c.l"),
    /too long/,
  );
});

t.test("sandboxConfig()", async (t) => {
  const config = sandboxConfig(
    pod({
      containers: [{ name: "a", ports: [{ containerPort: 80, hostPort: 8080, protocol: "UDP" }] }],
      securityContext: { sysctls: [{ name: "net.core.somaxconn", value: "9" }] },
    }),
    1,
    {
      ...facts,
      logsDir: "/logs",
      cgroupParent: "/kubepods/podu1",
      clusterDns: [],
      clusterDomain: "c.l",
      host: parseResolver(""),
    },
  );
  t.match(config, { hostname: "web", logDirectory: "/logs/shop_web_u1", metadata: { attempt: 1, uid: "u1" } });
  t.same(config.portMappings, [{ protocol: 1, containerPort: 80, hostPort: 8080, hostIp: "" }]);
  t.same(config.linux?.sysctls, { "net.core.somaxconn": "9" });
  t.equal(config.linux?.cgroupParent, "/kubepods/podu1");
});
