// What is wrong with ingresses, network policies and workloads, told by field as upstream tells it.

import t from "tap";
import { type Json, startApi } from "../../test/harness/api-server.ts";

const labels = { app: "a" };
const template = (spec: Json = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: "a", image: "x" }], ...spec },
});
const workload = (more: Json) => ({ selector: { matchLabels: labels }, template: template(), ...more });
const service = { service: { name: "s", port: { number: 80 } } };
const path = (more: Json) => ({
  rules: [{ http: { paths: [{ path: "/", pathType: "Prefix", backend: service, ...more }] } }],
});
const first = "spec.rules[0].http.paths[0]";
const from = (...peers: Json[]) => ({ ingress: [{ from: peers }] });
const port = (more: Json) => ({ ingress: [{ ports: [more] }] });

type Row = [name: string, spec: Json, says: string];

const ingresses: Row[] = [
  [
    "an address as a host",
    { rules: [{ host: "10.0.0.1" }] },
    'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
  ],
  [
    "a star in the middle",
    { rules: [{ host: "a.*.b" }] },
    "spec.rules[0].host: Invalid value: \"a.*.b\": a wildcard DNS-1123 subdomain must start with '*.'",
  ],
  ["a path that climbs", path({ path: "/a/../b" }), `${first}.path: Invalid value: "/a/../b": must not contain '/../'`],
  ["a path that ends above", path({ path: "/a/.." }), `${first}.path: Invalid value: "/a/..": cannot end with '/..'`],
  ["no type", path({ pathType: null }), `${first}.pathType: Required value: pathType must be specified`],
  [
    "nothing behind it",
    path({ backend: {} }),
    `${first}.backend: Invalid value: "": resource or service backend is required`,
  ],
  [
    "two behind it",
    path({ backend: { ...service, resource: { kind: "A", name: "b" } } }),
    `${first}.backend: Invalid value: "": cannot set both resource and service backends`,
  ],
  [
    "two ports",
    path({ backend: { service: { name: "s", port: { number: 1, name: "a" } } } }),
    `${first}.backend: Invalid value: "": cannot set both port name & port number`,
  ],
  [
    "no port",
    path({ backend: { service: { name: "s" } } }),
    `${first}.backend: Required value: port name or number is required`,
  ],
  [
    "a secret's name",
    { ...path({}), tls: [{ hosts: ["*.a.b"], secretName: "A" }] },
    'spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain',
  ],
];

const policies: Row[] = [
  [
    "an end without a port",
    port({ endPort: 80 }),
    "spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is not specified",
  ],
  [
    "an end after a name",
    port({ port: "web", endPort: 80 }),
    "spec.ingress[0].ports[0].endPort: Invalid value: 80: may not be specified when `port` is non-numeric",
  ],
  [
    "a port",
    port({ port: 70000 }),
    "spec.ingress[0].ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive",
  ],
  [
    "no range",
    from({ ipBlock: { cidr: "10.0.0.0" } }),
    'spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": must be a valid CIDR value',
  ],
  [
    "an exception outside",
    from({ ipBlock: { cidr: "10.0.0.0/16", except: ["10.1.0.0/24"] } }),
    'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.1.0.0/24": must be a strict subset of `cidr`',
  ],
  ["nobody", from({}), "spec.ingress[0].from[0]: Required value: must specify a peer"],
  [
    "a range and pods",
    from({ ipBlock: { cidr: "10.0.0.0/16" }, podSelector: {} }),
    "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
  ],
  [
    "a type",
    { policyTypes: ["Sideways"] },
    'spec.policyTypes[0]: Unsupported value: "Sideways": supported values: "Ingress", "Egress"',
  ],
];

const deployments: Row[] = [
  [
    "a deadline of pods",
    workload({ template: template({ activeDeadlineSeconds: 5 }) }),
    "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
  ],
  [
    "debuggers in a template",
    workload({ template: template({ ephemeralContainers: [{ name: "e", image: "x" }] }) }),
    "spec.template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
  ],
  [
    "more unavailable than there are",
    workload({ strategy: { rollingUpdate: { maxUnavailable: "101%" } } }),
    'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
  ],
];

const daemons: Row[] = [
  [
    "both ways at once",
    workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } } }),
    "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
  ],
  [
    "no way",
    workload({ updateStrategy: { rollingUpdate: { maxUnavailable: 0 } } }),
    "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0",
  ],
  [
    "no labels",
    workload({ selector: {} }),
    "spec.selector: Invalid value: {}: empty selector is invalid for daemonset",
  ],
];

const sets: Row[] = [
  [
    "a partition of those that are deleted",
    workload({ updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } }),
    "spec.updateStrategy.rollingUpdate: Invalid value: {\"partition\":1}: only allowed for updateStrategy 'RollingUpdate'",
  ],
  [
    "claims",
    workload({ persistentVolumeClaimRetentionPolicy: { whenScaled: "Eat" } }),
    'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Eat": supported values: "Retain", "Delete"',
  ],
  [
    "a start",
    workload({ ordinals: { start: -1 } }),
    "spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0",
  ],
];

const kinds: Record<string, Row[]> = {
  "networking.k8s.io/v1/ingresses": ingresses,
  "networking.k8s.io/v1/networkpolicies": policies,
  "apps/v1/deployments": deployments,
  "apps/v1/daemonsets": daemons,
  "apps/v1/statefulsets": sets,
};

const right: Record<string, Json> = {
  "networking.k8s.io/v1/ingresses": {
    ...path({ path: "/a/b..c" }),
    tls: [{ hosts: ["*.example.com", "a.b"], secretName: "tls" }],
    defaultBackend: { resource: { apiGroup: "a.b", kind: "Bucket", name: "c" } },
    ingressClassName: "nginx",
  },
  "networking.k8s.io/v1/networkpolicies": {
    policyTypes: ["Ingress", "Egress"],
    ingress: [{ ports: [{ port: 80, endPort: 90 }, { port: "web" }, { protocol: "UDP" }] }],
    egress: [{ to: [{ ipBlock: { cidr: "fd00::/8", except: ["fd00:1::/32"] } }] }],
  },
  "apps/v1/deployments": workload({ strategy: { rollingUpdate: { maxSurge: "300%", maxUnavailable: 0 } } }),
  "apps/v1/daemonsets": workload({ updateStrategy: { rollingUpdate: { maxSurge: "50%", maxUnavailable: 0 } } }),
  "apps/v1/statefulsets": workload({ ordinals: { start: 3 }, updateStrategy: { type: "OnDelete" } }),
};

t.test("each kind is refused by field, and taken when it is right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [kind, rows] of Object.entries(kinds)) {
    const [group, version, plural] = kind.split("/");
    const url = `/apis/${group}/${version}/namespaces/default/${plural}?dryRun=All`;
    for (const [name, spec, says] of rows) {
      const { status, body } = await api.ask("POST", url, { metadata: { name: "x" }, spec });
      t.equal(status, 422, `${plural}: ${name}`);
      t.match(body.message, says, `${plural}: ${name}`);
    }
    const { status, text } = await api.ask("POST", url, { metadata: { name: "x" }, spec: right[kind] });
    t.equal(status, 201, text.slice(0, 400));
  }
});
