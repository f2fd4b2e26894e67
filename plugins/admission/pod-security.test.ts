import t from "tap";
import { createRequest, openAdmission, podOf } from "../../test/harness/admission.ts";
import type { KubeObject, PodSpec } from "../kit/kube/objects/types.ts";
import { podSecurity } from "./pod-security.ts";
import { podView } from "./pod-security/check.ts";
import { describe, violations } from "./pod-security/policy.ts";

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
