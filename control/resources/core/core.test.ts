// What is wrong with quotas, limits, volumes and claims, told by field as upstream tells it.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

type Row = [name: string, spec: Json, says: string];

const limit = (more: Json) => ({ limits: [{ type: "Container", ...more }] });
const scoped = (scopeName: string, operator: string, values?: string[]) => ({
  hard: { pods: "1" },
  scopeSelector: { matchExpressions: [{ scopeName, operator, values }] },
});
const claim = (more: Json) => ({
  accessModes: ["ReadWriteOnce"],
  resources: { requests: { storage: "1Gi" } },
  ...more,
});
const volume = (more: Json) => ({ accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, ...more });
const at = "spec.limits[0]";
const expressions = "spec.scopeSelector.matchExpressions";

const quotas: Row[] = [
  [
    "a thing nobody counts",
    { hard: { cats: "1" } },
    'spec.hard[cats]: Invalid value: "cats": must be a standard resource type or fully qualified',
  ],
  [
    "storage without its requests",
    { hard: { storage: "1Gi" } },
    'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
  ],
  ["half a pod", { hard: { pods: "500m" } }, 'spec.hard[pods]: Invalid value: "500m": must be an integer'],
  [
    "a scope",
    { hard: { pods: "1" }, scopes: ["Mood"] },
    'spec.scopes: Invalid value: []core.ResourceQuotaScope{"Mood"}: unsupported scope',
  ],
  [
    "a scope of no services",
    { hard: { services: "1" }, scopes: ["BestEffort"] },
    'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort"}: unsupported scope applied to resource',
  ],
  [
    "both sides",
    { hard: { pods: "1" }, scopes: ["BestEffort", "NotBestEffort"] },
    'spec.scopes: Invalid value: []core.ResourceQuotaScope{"BestEffort", "NotBestEffort"}: conflicting scopes',
  ],
  [
    "a scope in a list",
    scoped("BestEffort", "In", ["x"]),
    `${expressions}.operator: Invalid value: "In": must be 'Exists' when scope is any of`,
  ],
  [
    "a class of none",
    scoped("PriorityClass", "In", []),
    `${expressions}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
  ],
  [
    "a class of some that exist",
    scoped("PriorityClass", "Exists", ["a"]),
    `${expressions}.values: Invalid value: []string{"a"}: must be no value when`,
  ],
];

const ranges: Row[] = [
  [
    "a type",
    { limits: [{ type: "Cat" }] },
    `${at}.type: Invalid value: "Cat": must be a standard limit type or fully qualified`,
  ],
  ["a type twice", { limits: [{ type: "Pod" }, { type: "Pod" }] }, 'spec.limits[1].type: Duplicate value: "Pod"'],
  [
    "defaults of pods",
    { limits: [{ type: "Pod", default: { cpu: "1" } }] },
    `${at}.default: Forbidden: may not be specified when \`type\` is 'Pod'`,
  ],
  [
    "claims of any size",
    { limits: [{ type: "PersistentVolumeClaim" }] },
    `${at}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`,
  ],
  [
    "storage of a container",
    limit({ max: { storage: "1" } }),
    `${at}.max[storage]: Invalid value: "storage": must be a standard resource for containers`,
  ],
  [
    "min above max",
    limit({ min: { cpu: "2" }, max: { cpu: "1" } }),
    `${at}.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`,
  ],
  [
    "a request above the limit",
    limit({ default: { cpu: "1" }, defaultRequest: { cpu: "2" } }),
    `${at}.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than default limit value 1`,
  ],
  [
    "a default above max",
    limit({ default: { cpu: "2" }, max: { cpu: "1" } }),
    "default value 2 is greater than max value 1",
  ],
  [
    "a ratio below one",
    limit({ maxLimitRequestRatio: { cpu: "500m" } }),
    `${at}.maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`,
  ],
  [
    "a ratio that cannot be",
    limit({ min: { cpu: "1" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "3" } }),
    "ratio 3 is greater than max/min = 2.000000",
  ],
];

const claims: Row[] = [
  [
    "a selector",
    claim({ selector: { matchExpressions: [{ key: "a", operator: "Near" }] } }),
    'spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator',
  ],
  [
    "a class",
    claim({ storageClassName: "A" }),
    'spec.storageClassName: Invalid value: "A": a lowercase RFC 1123 subdomain',
  ],
  [
    "a mode",
    claim({ volumeMode: "Liquid" }),
    'spec.volumeMode: Unsupported value: "Liquid": supported values: "Block", "Filesystem"',
  ],
  [
    "a copy of a pod",
    claim({ dataSourceRef: { kind: "Pod", name: "p" } }),
    "spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
  ],
  [
    "two sources",
    claim({
      dataSource: { kind: "PersistentVolumeClaim", name: "a" },
      dataSourceRef: { kind: "PersistentVolumeClaim", name: "b" },
    }),
    "must match dataSourceRef",
  ],
];

const volumes: Row[] = [
  ["no mode", { capacity: { storage: "1Gi" }, hostPath: { path: "/a" } }, "spec.accessModes: Required value"],
  [
    "a local disk anywhere",
    volume({ local: { path: "/a" } }),
    "spec.nodeAffinity: Required value: Local volume requires node affinity",
  ],
  [
    "a path that climbs",
    volume({ hostPath: { path: "/a/../b" } }),
    "spec.hostPath.path: Invalid value: \"/a/../b\": must not contain '..'",
  ],
  [
    "everything, wiped",
    volume({ hostPath: { path: "/" }, persistentVolumeReclaimPolicy: "Recycle" }),
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  ],
  ["a driver without a handle", volume({ csi: { driver: "a.b" } }), "spec.csi.volumeHandle: Required value"],
  [
    "a driver",
    volume({ csi: { driver: "a b", volumeHandle: "h" } }),
    'spec.csi.driver: Invalid value: "a b": a lowercase RFC 1123 subdomain',
  ],
  [
    "a share",
    volume({ nfs: { server: "s", path: "a" } }),
    'spec.nfs.path: Invalid value: "a": must be an absolute path',
  ],
];

const kinds: Record<string, { rows: Row[]; right: Json[] }> = {
  "namespaces/default/resourcequotas": {
    rows: quotas,
    right: [
      { hard: { pods: "5", "requests.cpu": "1500m", "count/jobs.batch": "2", "requests.example.com/gpu": "1" } },
      { hard: { pods: "5", cpu: "1" }, scopes: ["Terminating", "NotBestEffort"] },
      scoped("PriorityClass", "In", ["high"]),
    ],
  },
  "namespaces/default/limitranges": {
    rows: ranges,
    right: [
      {
        limits: [
          { type: "Pod", max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "1500m" } },
          { type: "PersistentVolumeClaim", min: { storage: "1Gi" } },
        ],
      },
      limit({ min: { cpu: "100m" }, max: { cpu: "1" }, default: { cpu: "500m" }, defaultRequest: { cpu: "200m" } }),
    ],
  },
  "namespaces/default/persistentvolumeclaims": {
    rows: claims,
    right: [
      claim({
        volumeMode: "Block",
        dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" },
      }),
    ],
  },
  persistentvolumes: {
    rows: volumes,
    right: [
      volume({ nfs: { server: "s", path: "/a" }, storageClassName: "slow" }),
      volume({ csi: { driver: "Disk.example.com", volumeHandle: "h" } }),
    ],
  },
};

const docker = (text: string) => ({ data: { ".dockerconfigjson": Buffer.from(text).toString("base64") } });
const slice = (more: Json) => ({ addressType: "IPv4", endpoints: [], ...more });
const flow = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";
const slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
const subset = (more: Json) => ({ subsets: [{ addresses: [{ ip: "10.0.0.1" }], ...more }] });

/** Addresses that lead nowhere, and which range they are of. */
const nowhere = [
  ["0.0.0.0", "unspecified (0.0.0.0)"],
  ["::", "unspecified (::)"],
  ["127.1.2.3", "loopback range (127.0.0.0/8, ::1/128)"],
  ["::1", "loopback range (127.0.0.0/8, ::1/128)"],
  ["169.254.169.254", "link-local range (169.254.0.0/16, fe80::/10)"],
  ["febf::1", "link-local range (169.254.0.0/16, fe80::/10)"],
  ["224.0.0.1", "link-local multicast range (224.0.0.0/24, ff02::/10)"],
  ["ff02::1", "link-local multicast range (224.0.0.0/24, ff02::/10)"],
] as const;

/** Kinds without a spec, or of other groups: the path, the object, and what is said of it; nothing when it is right. */
const whole: [name: string, path: string, object: Json, says?: string][] = [
  [
    "credentials that cannot be read",
    "/api/v1/namespaces/default/secrets",
    { type: "kubernetes.io/dockerconfigjson", ...docker("{") },
    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>"',
  ],
  [
    "credentials",
    "/api/v1/namespaces/default/secrets",
    { type: "kubernetes.io/dockerconfigjson", ...docker('{"auths":{}}') },
  ],
  [
    "a node's range",
    "/api/v1/nodes",
    { spec: { podCIDRs: ["10.0.0.0/33"] } },
    'spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value',
  ],
  [
    "two ranges of a family",
    "/api/v1/nodes",
    { spec: { podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] } },
    "may specify no more than one CIDR for each IP family",
  ],
  ["a range of each family", "/api/v1/nodes", { spec: { podCIDRs: ["10.0.0.0/24", "fd00::/64"] } }],
  [
    "ports without names",
    "/api/v1/namespaces/default/endpoints",
    subset({ ports: [{ port: 1 }, { port: 2, name: "b" }] }),
    "subsets[0].ports[0].name: Required value",
  ],
  ["one port", "/api/v1/namespaces/default/endpoints", subset({ ports: [{ port: 1 }] })],
  ...[...nowhere, ["::ffff:127.0.0.1", "loopback range (127.0.0.0/8, ::1/128)"] as const].map(
    ([ip, range]): (typeof whole)[number] => [
      `an endpoint at ${ip}`,
      "/api/v1/namespaces/default/endpoints",
      { subsets: [{ notReadyAddresses: [{ ip }] }] },
      `subsets[0].notReadyAddresses[0].ip: Invalid value: "${ip}": may not be ${range.startsWith("unspecified") ? range : `in the ${range}`}`,
    ],
  ),
  ...nowhere.map(([ip, range]): (typeof whole)[number] => [
    `a slice to ${ip}`,
    slices,
    { addressType: ip.includes(":") ? "IPv6" : "IPv4", endpoints: [{ addresses: [ip] }] },
    `endpoints[0].addresses[0]: Invalid value: "${ip}": may not be ${range.startsWith("unspecified") ? range : `in the ${range}`}`,
  ]),
  [
    "an address in the other family's clothes",
    slices,
    { addressType: "IPv6", endpoints: [{ addresses: ["::ffff:7f00:1"] }] },
    'endpoints[0].addresses[0]: Invalid value: "::ffff:7f00:1": must be a valid IPv6 address',
  ],
  [
    "an address with a zone",
    "/api/v1/namespaces/default/endpoints",
    { subsets: [{ addresses: [{ ip: "fd00::1%eth0" }] }] },
    'subsets[0].addresses[0].ip: Invalid value: "fd00::1%eth0": must be a valid IP address',
  ],
  [
    "a node's name",
    "/api/v1/namespaces/default/endpoints",
    { subsets: [{ addresses: [{ ip: "10.0.0.1", nodeName: "A" }] }] },
    'subsets[0].addresses[0].nodeName: Invalid value: "A": a lowercase RFC 1123 subdomain',
  ],
  [
    "a protocol's name",
    "/api/v1/namespaces/default/endpoints",
    subset({ ports: [{ port: 1, appProtocol: "a b" }] }),
    'subsets[0].ports[0].appProtocol: Invalid value: "a b": name part must consist of',
  ],
  [
    "a domain of one part",
    slices,
    { addressType: "FQDN", endpoints: [{ addresses: ["web"] }] },
    'endpoints[0].addresses[0]: Invalid value: "web": should be a domain with at least two segments separated by dots',
  ],
  ["a domain with its dot", slices, { addressType: "FQDN", endpoints: [{ addresses: ["web.example."] }] }],
  [
    "a zone twice",
    slices,
    slice({ endpoints: [{ addresses: ["10.0.0.1"], hints: { forZones: [{ name: "a" }, { name: "a" }] } }] }),
    'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
  ],
  [
    "too many zones",
    slices,
    slice({
      endpoints: [
        { addresses: ["10.0.0.1"], hints: { forZones: Array.from({ length: 9 }, (_, n) => ({ name: `z${n}` })) } },
      ],
    }),
    "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items",
  ],
  [
    "a host's and a node's name, a protocol",
    slices,
    slice({
      endpoints: [{ addresses: ["10.0.0.1"], hostname: "A", nodeName: "B" }],
      ports: [{ name: "", port: 1, appProtocol: "/" }],
    }),
    '[endpoints[0].nodeName: Invalid value: "B": ',
  ],
  [
    "an address of the other family",
    slices,
    slice({ endpoints: [{ addresses: ["::1"] }] }),
    'endpoints[0].addresses[0]: Invalid value: "::1": must be a valid IPv4 address',
  ],
  [
    "a port twice",
    slices,
    slice({
      ports: [
        { name: "a", port: 1 },
        { name: "a", port: 2 },
      ],
    }),
    'ports[1].name: Duplicate value: "a"',
  ],
  ["a slice", slices, slice({ endpoints: [{ addresses: ["10.0.0.1"] }], ports: [{ name: "", port: 1 }] })],
  [
    "told twice",
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
    { spec: { policyName: "p", validationActions: ["Deny", "Warn"] } },
    'spec.validationActions: Invalid value: []string{"Deny", "Warn"}: must not contain both Deny and Warn',
  ],
  ["a level of no type", flow, { spec: {} }, 'spec.type: Unsupported value: "": supported values: "Exempt", "Limited"'],
  [
    "a level without limits",
    flow,
    { spec: { type: "Limited" } },
    "spec.limited: Required value: must not be empty when type is Limited",
  ],
  [
    "a level",
    flow,
    { spec: { type: "Limited", limited: { nominalConcurrencyShares: 2, limitResponse: { type: "Reject" } } } },
  ],
];

t.test("so are other kinds", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, path, object, says] of whole) {
    const { status, body, text } = await api.ask("POST", `${path}?dryRun=All`, { metadata: { name: "x" }, ...object });
    t.equal(status, says ? 422 : 201, `${name}: ${text.slice(0, 200)}`);
    if (says) t.ok(body.message.includes(says), `${name}: ${body.message}`);
  }
});

t.test("each kind is refused by field, and taken when it is right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [path, { rows, right }] of Object.entries(kinds)) {
    const url = `/api/v1/${path}?dryRun=All`;
    for (const [name, spec, says] of rows) {
      const { status, body } = await api.ask("POST", url, { metadata: { name: "x" }, spec });
      t.equal(status, 422, `${path}: ${name}`);
      t.match(body.message, says, `${path}: ${name}`);
    }
    for (const spec of right) {
      const { status, text } = await api.ask("POST", url, { metadata: { name: "x" }, spec });
      t.equal(status, 201, text.slice(0, 400));
    }
  }
});

t.test("a negative grace of a pod is a second, that of a template stays", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const spec = { terminationGracePeriodSeconds: -1, containers: [{ name: "a", image: "i" }] };
  const pod = await api.ask("POST", "/api/v1/namespaces/default/pods", { metadata: { name: "a" }, spec });
  t.equal(pod.body.spec?.terminationGracePeriodSeconds, 1, pod.text.slice(0, 200));
  const template = { metadata: { name: "a" }, template: { spec } };
  const kept = await api.ask("POST", "/api/v1/namespaces/default/podtemplates", template);
  t.equal(kept.body.template?.spec.terminationGracePeriodSeconds, -1, kept.text.slice(0, 200));
});
