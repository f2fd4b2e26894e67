// What is taken but told of, as kubectl prints it: `Warning: …`.

import t from "tap";
import { startApi } from "../../test/harness/api-server.ts";

const main = { name: "main", image: "box:1" };
const template = (spec: object, annotations = {}) => ({
  metadata: { labels: { app: "web" }, annotations },
  spec: { containers: [main], ...spec },
});
const deployment = (spec: object, name = "web") => ({
  path: "/apis/apps/v1/namespaces/default/deployments",
  object: { metadata: { name }, spec: { selector: { matchLabels: { app: "web" } }, template: template(spec) } },
});
const pod = (spec: object, metadata = {}) => ({
  path: "/api/v1/namespaces/default/pods",
  object: { metadata: { name: "p", ...metadata }, spec: { containers: [main], ...spec } },
});
const volume = (spec: object) => ({
  path: "/api/v1/persistentvolumes",
  object: {
    metadata: { name: "v" },
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], ...spec },
  },
});
const service = (spec: object) => ({
  path: "/api/v1/namespaces/default/services",
  object: { metadata: { name: "s" }, spec: { ports: [{ port: 80 }], ...spec } },
});

const rows: readonly [what: { path: string; object: object }, told: string[]][] = [
  [pod({}), []],
  [pod({ volumes: [{ name: "git", gitRepo: { repository: "r" } }] }), ["spec.volumes[0].gitRepo: deprecated in v1.11"]],
  [
    pod({}, { name: "a.b" }),
    [
      "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
    ],
  ],
  [
    pod({
      containers: [
        {
          ...main,
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "2" },
          ],
        },
      ],
    }),
    ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
  ],
  [
    pod({ containers: [{ ...main, resources: { limits: { memory: "100m" } } }] }),
    [
      'spec.containers[0].resources.limits[memory]: fractional byte value "100m" is invalid, must be an integer',
      'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
    ],
  ],
  [
    pod({
      containers: [
        { ...main, ports: [{ containerPort: 80 }] },
        { ...main, name: "b", ports: [{ containerPort: 80 }] },
      ],
    }),
    ["spec.containers[1].ports[0]: duplicate port definition with spec.containers[0].ports[0]"],
  ],
  [
    pod({
      volumes: [
        {
          name: "m",
          configMap: {
            name: "c",
            items: [
              { key: "a", path: "x" },
              { key: "b", path: "x/y" },
            ],
          },
        },
      ],
    }),
    ['volume "m" (ConfigMap "c"): overlapping paths: "x/y" with "x"'],
  ],
  [
    deployment({ nodeSelector: { "beta.kubernetes.io/arch": "arm64" } }),
    [
      'spec.template.spec.nodeSelector[beta.kubernetes.io/arch]: deprecated since v1.14; use "kubernetes.io/arch" instead',
    ],
  ],
  [
    deployment({
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
    }),
    ["spec.template.spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
  ],
  [
    volume({ hostPath: { path: "/x" }, persistentVolumeReclaimPolicy: "Recycle" }),
    [
      "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
    ],
  ],
  [volume({ rbd: { monitors: ["m"], image: "i" } }), ["spec.rbd: deprecated in v1.28, non-functional in v1.31+"]],
  [service({ externalName: "a.b" }), ['spec.externalName is ignored when spec.type is not "ExternalName"']],
  [
    {
      path: "/api/v1/namespaces/default/secrets",
      object: { metadata: { name: "t" }, type: "kubernetes.io/tls", data: { "tls.crt": "eA==", "tls.key": "eA==" } },
    },
    ["tls: failed to find any PEM data in certificate input"],
  ],
];

t.test("what is likely not meant is taken and told of", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  for (const [{ path, object }, told] of rows) {
    const { status, headers, text } = await api.ask("POST", `${path}?dryRun=All`, object);
    t.equal(status, 201, text);
    const warnings = [...(headers.get("warning") ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g)];
    t.same(
      warnings.map(([, warning = ""]) => warning.replaceAll('\\"', '"')),
      told,
      JSON.stringify(object).slice(0, 100),
    );
  }
});
