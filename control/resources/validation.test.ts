// What is wrong with pods and autoscalers, told by field as upstream tells it; and a pod that uses all of it rightly.

import t from "tap";
import { type Json, startApi } from "../../test/harness/api-server.ts";

const pods = "/api/v1/namespaces/default/pods?dryRun=All";
const autoscalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers?dryRun=All";
const must = "requiredDuringSchedulingIgnoredDuringExecution";
const should = "preferredDuringSchedulingIgnoredDuringExecution";

const node = (matchExpressions: Json[], matchFields: Json[] = []) => ({
  affinity: { nodeAffinity: { [must]: { nodeSelectorTerms: [{ matchExpressions, matchFields }] } } },
});
const expressions = `spec.affinity.nodeAffinity.${must}.nodeSelectorTerms[0].matchExpressions[0]`;
const container = (more: Json) => ({ containers: [{ name: "a", image: "x", ...more }] });
const volume = (more: Json) => ({ volumes: [{ name: "v", ...more }] });
const spread = (more: Json) => ({ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", ...more });

const podRows: [name: string, spec: Json, says: string][] = [
  [
    "no node terms",
    { affinity: { nodeAffinity: { [must]: { nodeSelectorTerms: [] } } } },
    `spec.affinity.nodeAffinity.${must}.nodeSelectorTerms: Required value: must have at least one node selector term`,
  ],
  [
    "a node operator",
    node([{ key: "a", operator: "Near", values: ["b"] }]),
    `${expressions}.operator: Invalid value: "Near": not a valid selector operator`,
  ],
  [
    "In without values",
    node([{ key: "a", operator: "In" }]),
    `${expressions}.values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
  ],
  [
    "Exists with values",
    node([{ key: "a", operator: "Exists", values: ["b"] }]),
    `${expressions}.values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
  ],
  [
    "Gt with two",
    node([{ key: "a", operator: "Gt", values: ["1", "2"] }]),
    `${expressions}.values: Required value: must be specified single value when \`operator\` is 'Lt' or 'Gt'`,
  ],
  [
    "a node field",
    node([], [{ key: "spec.x", operator: "In", values: ["b"] }]),
    'matchFields[0].key: Invalid value: "spec.x": not a valid field selector key',
  ],
  [
    "a weight",
    { affinity: { nodeAffinity: { [should]: [{ weight: 0, preference: {} }] } } },
    `spec.affinity.nodeAffinity.${should}[0].weight: Invalid value: 0: must be in the range 1-100`,
  ],
  [
    "no topology",
    { affinity: { podAffinity: { [must]: [{ labelSelector: { matchLabels: { a: "b" } } }] } } },
    `spec.affinity.podAffinity.${must}[0].topologyKey: Required value: can not be empty`,
  ],
  [
    "a pod selector",
    {
      affinity: {
        podAntiAffinity: {
          [must]: [{ topologyKey: "k", labelSelector: { matchExpressions: [{ key: "a", operator: "In" }] } }],
        },
      },
    },
    `spec.affinity.podAntiAffinity.${must}[0].labelSelector.matchExpressions[0].values: Required value`,
  ],
  [
    "a spread twice",
    { topologySpreadConstraints: [spread({}), spread({ maxSkew: 2 })] },
    'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, DoNotSchedule}"',
  ],
  [
    "domains that nobody counts",
    { topologySpreadConstraints: [spread({ whenUnsatisfiable: "ScheduleAnyway", minDomains: 2 })] },
    "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
  ],
  [
    "iscsi",
    volume({ iscsi: { targetPortal: "", iqn: "iqn.2020-01.com.example:a", lun: 300 } }),
    "[spec.volumes[0].iscsi.targetPortal: Required value, spec.volumes[0].iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive]",
  ],
  [
    "emptyDir below zero",
    volume({ emptyDir: { sizeLimit: "-1" } }),
    "spec.volumes[0].emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
  ],
  [
    "an iscsi name",
    volume({ iscsi: { targetPortal: "p", iqn: "x", chapAuthSession: true, initiatorName: "iqn.x" } }),
    '[spec.volumes[0].iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa, spec.volumes[0].iscsi.secretRef: Required value, spec.volumes[0].iscsi.initiatorname: Invalid value: "iqn.x": must be valid format]',
  ],
  [
    "a flocker",
    volume({ flocker: { datasetName: "a/b", datasetUUID: "u" } }),
    '[spec.volumes[0].flocker: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously, spec.volumes[0].flocker.datasetName: Invalid value: "a/b": must not contain \'/\']',
  ],
  [
    "a fibre channel",
    volume({ fc: { targetWWNs: ["a"], wwids: ["b"] } }),
    '[spec.volumes[0].fc.targetWWNs: Invalid value: []string{"a"}: targetWWNs and wwids can not be specified simultaneously, spec.volumes[0].fc.lun: Required value: lun is required if targetWWNs is specified]',
  ],
  [
    "an azure disk",
    volume({ azureDisk: { diskName: "n", diskURI: "u", kind: "Managed", cachingMode: "x" } }),
    '[spec.volumes[0].azureDisk.cachingMode: Unsupported value: "x": supported values: "None", "ReadOnly", "ReadWrite", spec.volumes[0].azureDisk.diskURI: Unsupported value: "u": supported values: "/subscriptions/',
  ],
  [
    "a partition",
    volume({ gcePersistentDisk: { pdName: "n", partition: 256 } }),
    "spec.volumes[0].persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
  ],
  [
    "quobyte",
    volume({ quobyte: { registry: "r", volume: "v" } }),
    'spec.volumes[0].quobyte.registry: Invalid value: "r": must be a host:port pair or multiple pairs separated by commas',
  ],
  [
    "storageos",
    volume({ storageos: { volumeNamespace: "n", secretRef: {} } }),
    "[spec.volumes[0].storageos.volumeName: Required value, spec.volumes[0].storageos.secretRef.name: Required value]",
  ],
  [
    "the secret of a driver",
    volume({ csi: { driver: "d", nodePublishSecretRef: {} } }),
    "spec.volumes[0].csi.nodePublishSecretRef.name: Required value",
  ],
  [
    "the name of a claim to come",
    volume({
      ephemeral: {
        volumeClaimTemplate: {
          metadata: { name: "n" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1" } } },
        },
      },
    }),
    "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.name: Forbidden: cannot be set",
  ],
  [
    "no propagation",
    container({ volumeMounts: [{ name: "v", mountPath: "/v", mountPropagation: "" }] }),
    'mountPropagation: Unsupported value: ""',
  ],
  ["rbd", volume({ rbd: { monitors: [], image: "i" } }), "spec.volumes[0].rbd.monitors: Required value"],
  [
    "a downward path",
    volume({ downwardAPI: { items: [{ path: "/a", fieldRef: { fieldPath: "metadata.name" } }] } }),
    'spec.volumes[0].downwardAPI.path: Invalid value: "/a": must be a relative path',
  ],
  [
    "a hook without a handler",
    container({ lifecycle: { preStop: {} } }),
    "spec.containers[0].lifecycle.preStop: Required value: must specify a handler type",
  ],
  [
    "envFrom nothing",
    container({ envFrom: [{}] }),
    'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
  ],
  [
    "privileged without escalation",
    container({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }),
    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
  ],
  [
    "seccomp without its profile",
    container({ securityContext: { seccompProfile: { type: "Localhost" } } }),
    "spec.containers[0].securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
  ],
  [
    "restartPolicy of a container",
    container({ restartPolicy: "Always" }),
    "spec.containers[0].restartPolicy: Forbidden: may not be set for non-init containers",
  ],
  [
    "restartPolicy of an init container",
    { initContainers: [{ name: "i", image: "x", restartPolicy: "Never" }] },
    'spec.initContainers[0].restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ],
  [
    "a name server",
    { dnsConfig: { nameservers: ["dns"] } },
    'spec.dnsConfig.nameservers[0]: Invalid value: "dns": must be a valid IP address',
  ],
  [
    "ids",
    { securityContext: { fsGroup: -1 } },
    "spec.securityContext.fsGroup: Invalid value: -1: must be between 0 and 2147483647, inclusive",
  ],
  [
    "a sysctl twice",
    {
      securityContext: {
        sysctls: [
          { name: "net.a", value: "1" },
          { name: "net.a", value: "1" },
        ],
      },
    },
    'spec.securityContext.sysctls[1].name: Duplicate value: "net.a"',
  ],
  [
    "an operating system",
    { os: { name: "bsd" } },
    'spec.os: Unsupported value: "bsd": supported values: "linux", "windows"',
  ],
];

t.test("pods are refused by field", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, spec, says] of podRows) {
    const { status, body } = await api.ask("POST", pods, {
      metadata: { name: "p" },
      spec: { containers: [{ name: "a", image: "x" }], ...spec },
    });
    t.equal(status, 422, name);
    t.ok(body.message?.includes(says), `${name}: ${body.message}`);
  }
});

const expression = { key: "kubernetes.io/arch", operator: "In", values: ["arm64", "amd64"] };
const term = {
  topologyKey: "kubernetes.io/hostname",
  labelSelector: { matchLabels: { app: "a" } },
  namespaces: ["b"],
};

const rightSpec = {
  ...container({
    envFrom: [{ prefix: "A_", configMapRef: { name: "c" } }],
    lifecycle: { postStart: { exec: { command: ["a"] } }, preStop: { sleep: { seconds: 1 } } },
    env: [
      { name: "cpu", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
      { name: "app", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
      { name: "key", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
    ],
    resources: {
      limits: { cpu: "1", memory: "64Mi", "hugepages-2Mi": "4Mi", "example.com/gpu": "1" },
      requests: { cpu: "500m", "example.com/gpu": "1" },
      claims: [
        { name: "gpu", request: "one" },
        { name: "gpu", request: "two" },
      ],
    },
    resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
    volumeMounts: [{ name: "b", mountPath: "/b", readOnly: true, recursiveReadOnly: "IfPossible", subPath: "x" }],
    volumeDevices: [{ name: "d", devicePath: "/dev/d" }],
    securityContext: {
      runAsUser: 0,
      seccompProfile: { type: "Localhost", localhostProfile: "a/b.json" },
      procMount: "Default",
    },
  }),
  initContainers: [{ name: "i", image: "x", restartPolicy: "Always" }],
  resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "gpus" }],
  overhead: { cpu: "10m" },
  os: { name: "linux" },
  dnsConfig: {
    nameservers: ["10.0.0.1", "::1"],
    searches: ["svc.cluster.local.", "a"],
    options: [{ name: "ndots", value: "2" }],
  },
  securityContext: {
    fsGroup: 5,
    supplementalGroups: [6],
    sysctls: [{ name: "net.ipv4.ip_unprivileged_port_start", value: "0" }],
    fsGroupChangePolicy: "OnRootMismatch",
  },
  affinity: {
    nodeAffinity: {
      [must]: {
        nodeSelectorTerms: [
          {
            matchExpressions: [expression, { key: "n", operator: "Gt", values: ["5"] }],
            matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }],
          },
        ],
      },
      [should]: [{ weight: 100, preference: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] } }],
    },
    podAffinity: { [must]: [term] },
    podAntiAffinity: { [should]: [{ weight: 1, podAffinityTerm: { ...term, namespaceSelector: {} } }] },
  },
  topologySpreadConstraints: [
    spread({ minDomains: 2, nodeTaintsPolicy: "Honor" }),
    spread({ whenUnsatisfiable: "ScheduleAnyway" }),
  ],
  volumes: [
    { name: "a", iscsi: { targetPortal: "1.2.3.4", iqn: "iqn.2020-01.com.example:a", lun: 0 } },
    { name: "b", emptyDir: { sizeLimit: "1Gi" } },
    { name: "c", downwardAPI: { items: [{ path: "a/b", fieldRef: { fieldPath: "metadata.labels" } }] } },
    { name: "p", projected: { sources: [{ configMap: { name: "a", items: [{ key: "k", path: "a" }] } }] } },
    {
      name: "d",
      ephemeral: {
        volumeClaimTemplate: {
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      },
    },
  ],
};

t.test("a pod that uses much of it rightly is taken", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, text } = await api.ask("POST", pods, { metadata: { name: "p" }, spec: rightSpec });
  t.equal(status, 201, text.slice(0, 500));
});

t.test("whatever stands at any place of it, the answer is no surprise to the server", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const places = (value: Json, path: string[] = []): string[][] =>
    typeof value !== "object" || value === null
      ? []
      : Object.keys(value).flatMap((key) => [[...path, key], ...places(value[key], [...path, key])]);
  for (const path of places(rightSpec))
    for (const odd of [null, [], {}, "", -1, [null], [{}], { a: null }, 1e30]) {
      const spec: Json = structuredClone(rightSpec);
      const target = path.slice(0, -1).reduce((value, key) => value[key], spec);
      target[path.at(-1) as string] = odd;
      const { status, text } = await api.ask("POST", pods, { metadata: { name: "p" }, spec });
      if (![201, 400, 422].includes(status)) t.fail(`${path.join(".")} = ${JSON.stringify(odd)}: ${text}`);
    }
  t.pass("a Status every time");
});

const cpu = (target: Json) => ({ metrics: [{ type: "Resource", resource: { name: "cpu", target } }] });
const target = "spec.metrics[0].resource.target";

const autoscalerRows: [name: string, spec: Json, says: string][] = [
  ["a metric type", { metrics: [{ type: "Mood" }] }, 'spec.metrics[0].type: Unsupported value: "Mood"'],
  [
    "no source",
    { metrics: [{ type: "Resource" }] },
    "spec.metrics[0].resource: Required value: must populate information for the given metric source",
  ],
  [
    "two targets",
    cpu({ type: "Utilization", averageUtilization: 5, averageValue: "1" }),
    `${target}.averageValue: Forbidden: may not set both a target raw value and a target utilization`,
  ],
  [
    "no target",
    cpu({ type: "Utilization" }),
    `${target}.averageUtilization: Required value: must set either a target raw value or a target utilization`,
  ],
  [
    "a low target",
    cpu({ type: "Utilization", averageUtilization: 0 }),
    `${target}.averageUtilization: Invalid value: 0: must be greater than 0`,
  ],
  [
    "pods without a name",
    { metrics: [{ type: "Pods", pods: { metric: {}, target: { type: "AverageValue", averageValue: "1" } } }] },
    "spec.metrics[0].pods.metric.name: Required value: must specify a metric name",
  ],
  [
    "no container",
    {
      metrics: [
        {
          type: "ContainerResource",
          containerResource: { name: "cpu", target: { type: "Utilization", averageUtilization: 5 } },
        },
      ],
    },
    "spec.metrics[0].containerResource.container: Required value: must specify a container",
  ],
  [
    "a long window",
    { behavior: { scaleDown: { stabilizationWindowSeconds: 4000 } } },
    "spec.behavior.scaleDown.stabilizationWindowSeconds: Invalid value: 4000: must be less than or equal to 3600",
  ],
  [
    "a policy",
    { behavior: { scaleUp: { policies: [{ type: "Pods", value: 0, periodSeconds: 10 }] } } },
    "spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than zero",
  ],
  [
    "a target name",
    { scaleTargetRef: { kind: "Deployment", name: "a/b" } },
    "spec.scaleTargetRef.name: Invalid value: \"a/b\": may not contain '/'",
  ],
];

t.test("autoscalers are refused by field", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const ask = (spec: Json) =>
    api.ask("POST", autoscalers, {
      metadata: { name: "h" },
      spec: { scaleTargetRef: { kind: "Deployment", name: "a" }, maxReplicas: 3, ...spec },
    });
  for (const [name, spec, says] of autoscalerRows) {
    const { status, body } = await ask(spec);
    t.equal(status, 422, name);
    t.ok(body.message?.includes(says), `${name}: ${body.message}`);
  }
  const { status, text } = await ask({
    metrics: [
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
      { type: "Pods", pods: { metric: { name: "p" }, target: { type: "AverageValue", averageValue: "100m" } } },
      { type: "External", external: { metric: { name: "e" }, target: { type: "Value", value: "5" } } },
      {
        type: "Object",
        object: {
          describedObject: { kind: "Service", name: "s" },
          metric: { name: "o" },
          target: { type: "Value", value: "1" },
        },
      },
    ],
    behavior: {
      scaleDown: { selectPolicy: "Disabled" },
      scaleUp: { policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
    },
  });
  t.equal(status, 201, text.slice(0, 400));
});
