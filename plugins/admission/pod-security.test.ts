import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import type { KubeObject, PodSpec } from "../kit/kube/objects/types.ts";
import { podSecurity } from "./pod-security.ts";
import { podView } from "./pod-security/check.ts";
import { describe, type Level, violations } from "./pod-security/policy.ts";

const hardened = { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } };
const container = (securityContext: object = {}, rest: object = {}) => ({
  name: "a",
  image: "i",
  securityContext,
  ...rest,
});
const good = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
  containers: [container(hardened)],
};

const baseline: [string, object, string][] = [
  ["nothing special", { containers: [container()] }, ""],
  [
    "host namespaces",
    { hostNetwork: true, hostPID: true, containers: [container()] },
    "host namespaces (hostNetwork=true, hostPID=true)",
  ],
  [
    "privileged",
    { containers: [container({ privileged: true })] },
    'privileged (container "a" must not set securityContext.privileged=true)',
  ],
  [
    "privileged init and ephemeral",
    {
      initContainers: [{ ...container({ privileged: true }), name: "i" }],
      containers: [container()],
      ephemeralContainers: [{ ...container({ privileged: true }), name: "e" }],
    },
    'privileged (containers "i", "e" must not set securityContext.privileged=true)',
  ],
  [
    "capabilities",
    { containers: [container({ capabilities: { add: ["NET_ADMIN", "CHOWN", "BPF"] } })] },
    'non-default capabilities (container "a" must not include "BPF", "NET_ADMIN" in securityContext.capabilities.add)',
  ],
  [
    "hostPath",
    { volumes: [{ name: "v", hostPath: { path: "/" } }], containers: [container()] },
    'hostPath volumes (volume "v")',
  ],
  [
    "hostPort",
    { containers: [container({}, { ports: [{ containerPort: 80, hostPort: 80 }] })] },
    'hostPort (container "a" uses hostPort 80)',
  ],
  [
    "procMount",
    { containers: [container({ procMount: "Unmasked" })] },
    'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
  ],
  [
    "seccomp",
    {
      securityContext: { seccompProfile: { type: "Unconfined" } },
      containers: [container({ seccompProfile: { type: "Unconfined" } })],
    },
    'seccompProfile (pod and container "a" must not set securityContext.seccompProfile.type to "Unconfined")',
  ],
  [
    "seLinux",
    { containers: [container({ seLinuxOptions: { type: "spc_t", user: "u" } })] },
    'seLinuxOptions (container "a" set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set)',
  ],
  ["seLinux type that is fine", { containers: [container({ seLinuxOptions: { type: "container_t" } })] }, ""],
  [
    "sysctls",
    {
      securityContext: {
        sysctls: [
          { name: "kernel.msgmax", value: "1" },
          { name: "net.ipv4.tcp_syncookies", value: "1" },
        ],
      },
      containers: [container()],
    },
    "forbidden sysctls (kernel.msgmax)",
  ],
  [
    "appArmor",
    { containers: [container({ appArmorProfile: { type: "Unconfined" } })] },
    'forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")',
  ],
  [
    "hostProcess",
    { securityContext: { windowsOptions: { hostProcess: true } }, containers: [container()] },
    "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
  ],
];

const restricted: [string, object, string][] = [
  ["hardened", good, ""],
  [
    "an ordinary pod",
    { containers: [container()] },
    'allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "a" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "a" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "a" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  ],
  [
    "volumes",
    {
      ...good,
      volumes: [
        { name: "h", hostPath: { path: "/" } },
        { name: "n", nfs: {} },
        { name: "e", emptyDir: {} },
      ],
    },
    'restricted volume types (volumes "h", "n" use restricted volume types "hostPath", "nfs")',
  ],
  [
    "root user",
    { ...good, containers: [container({ ...hardened, runAsUser: 0 })] },
    'runAsUser=0 (container "a" must not set runAsUser=0)',
  ],
  [
    "container says root",
    { ...good, containers: [container({ ...hardened, runAsNonRoot: false })] },
    'runAsNonRoot != true (container "a" must not set securityContext.runAsNonRoot=false)',
  ],
  [
    "one capability is allowed",
    { ...good, containers: [container({ ...hardened, capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } })] },
    "",
  ],
  [
    "added capability",
    { ...good, containers: [container({ ...hardened, capabilities: { drop: ["ALL"], add: ["CHOWN"] } })] },
    'unrestricted capabilities (container "a" must not include "CHOWN" in securityContext.capabilities.add)',
  ],
  [
    "windows needs less",
    { os: { name: "windows" }, securityContext: { runAsNonRoot: true }, containers: [container()] },
    "",
  ],
  [
    "baseline first",
    {
      ...good,
      hostNetwork: true,
      containers: [container({ ...hardened, privileged: true, allowPrivilegeEscalation: true })],
    },
    'host namespaces (hostNetwork=true), privileged (container "a" must not set securityContext.privileged=true), allowPrivilegeEscalation != false (container "a" must set securityContext.allowPrivilegeEscalation=false)',
  ],
];

for (const [level, table] of [
  ["baseline", baseline],
  ["restricted", restricted],
] as const) {
  for (const [name, spec, expected] of table) {
    t.test(`violations() at ${level}: ${name}`, async (t) => {
      t.equal(describe(violations(podView({}, spec as PodSpec), { level, version: "latest" })), expected);
    });
  }
}

/** Where a container's field may stand: all of them count alike. */
const lists = ["containers", "initContainers", "ephemeralContainers"] as const;

/** The controls of the Pod Security Standards on fields of containers: what passes and what does not, wherever the container stands. */
const ofContainers: [level: Level, control: string, reason: string, good: object[], bad: object[]][] = [
  ["baseline", "HostProcess", "hostProcess", [{ windowsOptions: {} }], [{ windowsOptions: { hostProcess: true } }]],
  ["baseline", "Privileged Containers", "privileged", [{ privileged: false }], [{ privileged: true }]],
  [
    "baseline",
    "Capabilities",
    "non-default capabilities",
    [
      { capabilities: { drop: ["NET_RAW"] } },
      ..."AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT"
        .split(" ")
        .map((name) => ({ capabilities: { add: [name] } })),
    ],
    ["NET_RAW", "SYS_ADMIN", "ALL", "CAP_CHOWN", "chown"].map((name) => ({ capabilities: { add: [name] } })),
  ],
  [
    "baseline",
    "AppArmor",
    "forbidden AppArmor profile",
    [
      { appArmorProfile: { type: "RuntimeDefault" } },
      { appArmorProfile: { type: "Localhost", localhostProfile: "p" } },
    ],
    [{ appArmorProfile: { type: "Unconfined" } }],
  ],
  [
    "baseline",
    "SELinux",
    "seLinuxOptions",
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"].map((type) => ({
      seLinuxOptions: { type, level: "s0" },
    })),
    [{ type: "spc_t" }, { user: "u" }, { role: "r" }].map((seLinuxOptions) => ({ seLinuxOptions })),
  ],
  ["baseline", "/proc Mount Type", "procMount", [{ procMount: "Default" }], [{ procMount: "Unmasked" }]],
  [
    "baseline",
    "Seccomp",
    "seccompProfile",
    [{ seccompProfile: { type: "RuntimeDefault" } }, { seccompProfile: { type: "Localhost", localhostProfile: "p" } }],
    [{ seccompProfile: { type: "Unconfined" } }],
  ],
  [
    "restricted",
    "Privilege Escalation",
    "allowPrivilegeEscalation != false",
    [{ allowPrivilegeEscalation: false }],
    [{ allowPrivilegeEscalation: true }, { allowPrivilegeEscalation: undefined }],
  ],
  [
    "restricted",
    "Running as Non-root",
    "runAsNonRoot != true",
    [{ runAsNonRoot: true }, { runAsNonRoot: undefined }],
    [{ runAsNonRoot: false }],
  ],
  ["restricted", "Running as Non-root user", "runAsUser=0", [{ runAsUser: 1 }], [{ runAsUser: 0 }]],
  [
    "restricted",
    "Seccomp",
    "seccompProfile",
    [{ seccompProfile: { type: "Localhost", localhostProfile: "p" } }, { seccompProfile: undefined }],
    [{ seccompProfile: { type: "Unconfined" } }],
  ],
  [
    "restricted",
    "Capabilities",
    "unrestricted capabilities",
    [{ capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] } }],
    [
      { capabilities: undefined },
      { capabilities: { drop: ["NET_RAW"] } },
      { capabilities: { drop: ["ALL"], add: ["CHOWN"] } },
    ],
  ],
  ["restricted", "/proc Mount Type", "procMount", [{ procMount: "Default" }], [{ procMount: "Unmasked" }]],
];

const reasonsOf = (level: Level, spec: object, version = "latest") =>
  violations(podView({}, spec as PodSpec), { level, version }).map(({ reason }) => reason);

for (const [level, control, reason, passing, failing] of ofContainers)
  for (const list of lists)
    t.test(`violations() at ${level} of ${list}: ${control}`, async (t) => {
      const pod = (context: object) => {
        const own = container(level === "restricted" ? { ...hardened, ...context } : context);
        const base = level === "restricted" ? good : { containers: [container()] };
        return { ...base, [list]: [{ ...own, name: "x" }] };
      };
      for (const context of passing) t.same(reasonsOf(level, pod(context)), [], JSON.stringify(context));
      for (const context of failing) t.same(reasonsOf(level, pod(context)), [reason], JSON.stringify(context));
    });

const handlers = ["livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop"] as const;

for (const list of lists)
  t.test(`violations() at baseline of ${list}: Host Ports, Host Probes / Lifecycle Hooks`, async (t) => {
    const pod = (more: object) => ({ containers: [container()], [list]: [{ ...container({}, more), name: "x" }] });
    t.same(reasonsOf("baseline", pod({ ports: [{ containerPort: 1 }, { containerPort: 2, hostPort: 0 }] })), []);
    t.same(reasonsOf("baseline", pod({ ports: [{ containerPort: 2, hostPort: 2 }] })), ["hostPort"]);
    for (const handler of handlers)
      for (const action of ["httpGet", "tcpSocket"]) {
        const asking = (host?: string) => {
          const asked = { [handler]: { [action]: { port: 80, ...(host === undefined ? {} : { host }) } } };
          return pod(handler.startsWith("p") ? { lifecycle: asked } : asked);
        };
        t.same(reasonsOf("baseline", asking()), []);
        t.same(reasonsOf("baseline", asking("")), []);
        t.same(reasonsOf("baseline", asking("127.0.0.1")), ["probe or lifecycle host"], `${handler} ${action}`);
        t.same(reasonsOf("baseline", asking("127.0.0.1"), "v1.33"), []);
      }
  });

const podContext = (securityContext: object) => ({
  ...good,
  securityContext: { ...good.securityContext, ...securityContext },
});

const safe = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
];

type OfPod = [level: Level, control: string, spec: object, reasons: string[]];

/** The same controls on fields of the pod. */
const ofPods: OfPod[] = [
  ["baseline", "hostNetwork", { ...good, hostNetwork: true }, ["host namespaces"]],
  ["baseline", "hostPID", { ...good, hostPID: true }, ["host namespaces"]],
  ["baseline", "hostIPC", { ...good, hostIPC: true }, ["host namespaces"]],
  ["baseline", "no host namespace", { ...good, hostNetwork: false, hostPID: false, hostIPC: false }, []],
  ["baseline", "HostProcess", podContext({ windowsOptions: { hostProcess: true } }), ["hostProcess"]],
  ["baseline", "AppArmor", podContext({ appArmorProfile: { type: "Unconfined" } }), ["forbidden AppArmor profile"]],
  ["baseline", "AppArmor of the runtime", podContext({ appArmorProfile: { type: "RuntimeDefault" } }), []],
  ["baseline", "SELinux", podContext({ seLinuxOptions: { role: "r" } }), ["seLinuxOptions"]],
  ["baseline", "SELinux type", podContext({ seLinuxOptions: { type: "container_t" } }), []],
  ["baseline", "Seccomp", podContext({ seccompProfile: { type: "Unconfined" } }), ["seccompProfile"]],
  ["baseline", "no seccomp", podContext({ seccompProfile: undefined }), []],
  ["baseline", "HostPath Volumes", { ...good, volumes: [{ name: "v", hostPath: {} }] }, ["hostPath volumes"]],
  ["baseline", "any other volume", { ...good, volumes: [{ name: "v", nfs: {} }] }, []],
  ...safe.map((name): OfPod => ["baseline", name, podContext({ sysctls: [{ name }] }), []]),
  ...["kernel.shm_rmid", "net.ipv4.ip_forward", "vm.swappiness"].map(
    (name): OfPod => ["baseline", name, podContext({ sysctls: [{ name }] }), ["forbidden sysctls"]],
  ),
  ["restricted", "Running as Non-root, unset", podContext({ runAsNonRoot: undefined }), ["runAsNonRoot != true"]],
  [
    "restricted",
    "Running as Non-root, false, whatever the containers say",
    { ...podContext({ runAsNonRoot: false }), containers: [container({ ...hardened, runAsNonRoot: true })] },
    ["runAsNonRoot != true"],
  ],
  [
    "restricted",
    "Running as Non-root by every container",
    { ...podContext({ runAsNonRoot: undefined }), containers: [container({ ...hardened, runAsNonRoot: true })] },
    [],
  ],
  ["restricted", "Running as Non-root user", podContext({ runAsUser: 0 }), ["runAsUser=0"]],
  ["restricted", "Seccomp, unset", podContext({ seccompProfile: undefined }), ["seccompProfile"]],
  ["restricted", "Seccomp, unconfined", podContext({ seccompProfile: { type: "Unconfined" } }), ["seccompProfile"]],
  ..."configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret"
    .split(" ")
    .map((type): OfPod => ["restricted", type, { ...good, volumes: [{ name: "v", [type]: {} }] }, []]),
  ..."hostPath nfs iscsi image gitRepo flexVolume rbd local glusterfs fc"
    .split(" ")
    .map(
      (type): OfPod => [
        "restricted",
        type,
        { ...good, volumes: [{ name: "v", [type]: {} }] },
        ["restricted volume types"],
      ],
    ),
];

for (const [level, control, spec, reasons] of ofPods)
  t.test(`violations() at ${level} of the pod: ${control}`, async (t) => t.same(reasonsOf(level, spec), reasons));

t.test("violations() leave out from v1.35 on what a user namespace of the pod's own makes harmless", async (t) => {
  const root = podContext({ runAsNonRoot: false, runAsUser: 0 });
  const unmasked = { ...good, containers: [container({ ...hardened, procMount: "Unmasked" })] };
  const rows: [level: Level, spec: object, before: string[], since: string[]][] = [
    ["restricted", root, ["runAsNonRoot != true", "runAsUser=0"], []],
    ["baseline", unmasked, ["procMount"], []],
    ["restricted", unmasked, ["procMount"], ["procMount"]],
  ];
  for (const [level, spec, before, since] of rows) {
    t.same(reasonsOf(level, { ...spec, hostUsers: false }, "v1.34"), before);
    t.same(reasonsOf(level, { ...spec, hostUsers: false }, "v1.35"), since);
    t.same(reasonsOf(level, { ...spec, hostUsers: true }), before);
  }
});

t.test("violations() follow the version asked for", async (t) => {
  const root = podView({}, { ...good, containers: [container({ ...hardened, runAsUser: 0 })] } as unknown as PodSpec);
  t.equal(violations(root, { level: "restricted", version: "v1.22" }).length, 0);
  t.equal(violations(root, { level: "restricted", version: "v1.23" }).length, 1);
});

const namespace = (labels: Record<string, string>): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: {
    name: "shop",
    labels: Object.fromEntries(
      Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]),
    ),
  },
});
const namespaces = { group: "", plural: "namespaces" };
const bad = podOf({ hostNetwork: true });

t.test("PodSecurity enforces, warns and audits by the namespace's labels", async (t) => {
  const { view, admit, close } = await openAdmission([podSecurity]);
  t.teardown(close);
  view.put(namespaces, namespace({}));
  await admit(createRequest(bad, { resource: "pods" }));
  view.put(namespaces, namespace({ enforce: "baseline" }));
  await t.rejects(admit(createRequest(bad, { resource: "pods" })), {
    code: "forbidden",
    message: 'pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)',
  });
  view.put(namespaces, namespace({ warn: "baseline", audit: "baseline", "warn-version": "v1.30" }));
  const warned = await admit(createRequest(bad, { resource: "pods" }));
  t.same(warned.warnings, ['would violate PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)']);
  t.match(warned.notes, { "audit-violations": /would violate PodSecurity "baseline:latest"/ });
  view.put(namespaces, namespace({ enforce: "baseline", warn: "baseline" }));
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", namespace: "shop" },
    spec: { template: { spec: bad.spec } },
  };
  const templated = await admit(createRequest(deployment, { resource: "deployments", group: "apps" }));
  t.equal(templated.warnings.length, 1, "a template is only warned of");
  const labelled = { ...bad, metadata: { ...bad.metadata, labels: { a: "b" } } };
  await admit(createRequest(labelled, { resource: "pods", operation: "UPDATE", oldObject: bad }));
});

t.test("PodSecurity checks labels and warns of pods that are there", async (t) => {
  const { view, admit, close } = await openAdmission([podSecurity]);
  t.teardown(close);
  await t.rejects(admit(createRequest(namespace({ enforce: "strict" }), { resource: "namespaces" })), {
    code: "invalid",
    message:
      /metadata.labels\[pod-security.kubernetes.io\/enforce\]: Invalid value: "strict": must be one of privileged, baseline, restricted/,
  });
  view.put({ group: "", plural: "pods" }, bad);
  view.put({ group: "", plural: "pods" }, podOf({ hostNetwork: true }, { name: "web-2" }));
  const { warnings } = await admit(
    createRequest(namespace({ enforce: "baseline" }), {
      resource: "namespaces",
      operation: "UPDATE",
      oldObject: namespace({}),
    }),
  );
  t.same(warnings, [
    'existing pods in namespace "shop" violate the new PodSecurity enforce level "baseline:latest"',
    "web (and 1 other pod): host namespaces",
  ]);
});

t.test("PodSecurity takes defaults and exemptions as settings", async (t) => {
  const settings = {
    PodSecurity: {
      defaults: { enforce: "baseline" },
      exemptions: { namespaces: ["kube-system"], usernames: ["root"] },
    },
  };
  const { admit, close } = await openAdmission([podSecurity], { settings });
  t.teardown(close);
  await t.rejects(admit(createRequest(bad, { resource: "pods" })), { code: "forbidden" });
  await admit(createRequest(bad, { resource: "pods", namespace: "kube-system" }));
  await admit(createRequest(bad, { resource: "pods", user: { name: "root", groups: [] } }));
  await t.rejects(openAdmission([podSecurity], { settings: { PodSecurity: { defaults: { enforce: "x" } } } }), {
    code: "invalid",
  });
});
