// What is wrong with what a pod gives its containers, told by field as upstream tells it; and what may change in a pod.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

const pods = "/api/v1/namespaces/default/pods";
const container = (more: Json) => ({ containers: [{ name: "a", image: "x", ...more }] });
const volume = (more: Json) => ({ volumes: [{ name: "v", ...more }] });
const spread = (more: Json) => ({ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", ...more });
const resources = (more: Json) => container({ resources: more });
const variable = (valueFrom: Json, more: Json = {}) => container({ env: [{ name: "A", valueFrom, ...more }] });
const mounted = (mount: Json, more: Json = {}) => ({
  ...container({ volumeMounts: [{ name: "v", mountPath: "/v", ...mount }], ...more }),
  ...volume({ emptyDir: {} }),
});
const first = "spec.containers[0]";

const rows: [name: string, spec: Json, says: string][] = [
  [
    "huge pages alone",
    resources({ limits: { "hugepages-2Mi": "4Mi" } }),
    `${first}.resources: Forbidden: HugePages require cpu or memory`,
  ],
  [
    "half a huge page",
    resources({ limits: { cpu: "1", "hugepages-2Mi": "3Mi" } }),
    `${first}.resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi`,
  ],
  [
    "fewer devices than the limit",
    resources({ limits: { "example.com/gpu": "2" }, requests: { "example.com/gpu": "1" } }),
    `${first}.resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2`,
  ],
  [
    "devices without a limit",
    resources({ requests: { "example.com/gpu": "1" } }),
    `${first}.resources.limits: Required value: Limit must be set for non overcommitable resources`,
  ],
  [
    "half a device",
    resources({ limits: { "example.com/gpu": "500m" } }),
    `${first}.resources.limits[example.com/gpu]: Invalid value: "500m": must be an integer`,
  ],
  [
    "a resource nobody knows",
    resources({ limits: { disks: "1" } }),
    `[${first}.resources.limits[disks]: Invalid value: "disks": must be a standard resource type or fully qualified, ${first}.resources.limits[disks]: Invalid value: "disks": must be a standard resource for containers`,
  ],
  [
    "more asked than allowed",
    resources({ limits: { cpu: "1" }, requests: { cpu: "2" } }),
    `${first}.resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
  ],
  [
    "a claim that the pod does not have",
    resources({ claims: [{ name: "gpu" }] }),
    `${first}.resources.claims[0]: Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty`,
  ],
  [
    "a claim of nothing",
    { resourceClaims: [{ name: "gpu" }] },
    'spec.resourceClaims[0]: Invalid value: {"name":"gpu"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
  ],
  [
    "overhead",
    { overhead: { cpu: "-1" } },
    'spec.overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ],
  [
    "resize of what cannot be",
    container({ resizePolicy: [{ resourceName: "disk", restartPolicy: "NotRequired" }] }),
    `${first}.resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"`,
  ],
  [
    "resize by restart of what never restarts",
    {
      restartPolicy: "Never",
      ...container({ resizePolicy: [{ resourceName: "cpu", restartPolicy: "RestartContainer" }] }),
    },
    `${first}.resizePolicy: Invalid value: "RestartContainer": must be 'NotRequired' when \`restartPolicy\` is 'Never'`,
  ],
  [
    "a field no variable can show",
    variable({ fieldRef: { fieldPath: "spec.restartPolicy" } }),
    `${first}.env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "spec.restartPolicy": supported values: "metadata.name"`,
  ],
  [
    "a field that is none",
    variable({ fieldRef: { fieldPath: "spec.mood" } }),
    `${first}.env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.mood": error converting fieldPath: field label not supported: spec.mood`,
  ],
  [
    "a divisor",
    variable({ resourceFieldRef: { resource: "limits.cpu", divisor: "2" } }),
    `${first}.env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor's values 1m and 1 are supported with the cpu resource`,
  ],
  [
    "a value and where it comes from",
    variable({ fieldRef: { fieldPath: "metadata.name" } }, { value: "x" }),
    `${first}.env[0].valueFrom: Invalid value: "": may not be specified when \`value\` is not empty`,
  ],
  [
    "propagation of a container without privileges",
    mounted({ mountPropagation: "Bidirectional" }),
    `${first}.volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers`,
  ],
  [
    "recursively read-only and writable",
    mounted({ recursiveReadOnly: "Enabled" }),
    `${first}.volumeMounts.recursiveReadOnly: Forbidden: may only be specified when readOnly is true`,
  ],
  [
    "a sub-path out of the volume",
    mounted({ subPath: "a/../../b" }),
    `${first}.volumeMounts.subPath: Invalid value: "a/../../b": must not contain '..'`,
  ],
  [
    "a folder as a device",
    { ...container({ volumeDevices: [{ name: "v", devicePath: "/dev/a" }] }), ...volume({ emptyDir: {} }) },
    `${first}.volumeDevices[0].name: Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode`,
  ],
  [
    "a probe by two ways",
    container({ livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 1 } } }),
    `${first}.livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
  ],
  [
    "a probe's scheme and header",
    container({
      readinessProbe: { httpGet: { port: "web", scheme: "FTP", httpHeaders: [{ name: "A b", value: "" }] } },
    }),
    `[${first}.readinessProbe.httpGet.scheme: Unsupported value: "FTP": supported values: "HTTP", "HTTPS", ${first}.readinessProbe.httpGet.httpHeaders: Invalid value: "A b": a valid HTTP header`,
  ],
  [
    "grace of a readiness probe",
    container({ readinessProbe: { exec: { command: ["a"] }, terminationGracePeriodSeconds: 5 } }),
    `${first}.readinessProbe.terminationGracePeriodSeconds: Invalid value: 5: must not be set for readinessProbes`,
  ],
  [
    "a sleep longer than the grace",
    container({ lifecycle: { preStop: { sleep: { seconds: 31 } } } }),
    `${first}.lifecycle.preStop.sleep: Invalid value: 31: must be greater than 0 and less than terminationGracePeriodSeconds (30)`,
  ],
  [
    "another port of the host",
    { hostNetwork: true, ...container({ ports: [{ containerPort: 80, hostPort: 81 }] }) },
    `${first}.ports[0].hostPort: Invalid value: 81: must match \`containerPort\` when \`hostNetwork\` is true`,
  ],
  [
    "users of its own in the host's network",
    { hostUsers: false, hostNetwork: true },
    "spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false",
  ],
  [
    "DNS of nobody",
    { dnsPolicy: "None" },
    "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None",
  ],
  [
    "four name servers",
    { dnsConfig: { nameservers: ["1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"] } },
    'spec.dnsConfig.nameservers: Invalid value: []string{"1.1.1.1", "1.1.1.2", "1.1.1.3", "1.1.1.4"}: must not have more than 3 nameservers',
  ],
  [
    "an alias",
    { hostAliases: [{ ip: "1.2.3", hostnames: ["A"] }] },
    '[spec.hostAliases[0].ip: Invalid value: "1.2.3": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff), spec.hostAliases[0].hostnames[0]: Invalid value: "A"',
  ],
  [
    "an AppArmor profile",
    container({ securityContext: { appArmorProfile: { type: "Localhost" } } }),
    `${first}.securityContext.appArmorProfile.localhostProfile: Required value: must be set when AppArmor type is Localhost`,
  ],
  [
    "Windows options on Linux",
    { os: { name: "linux" }, securityContext: { windowsOptions: { runAsUserName: "a" } } },
    "spec.securityContext.windowsOptions: Forbidden: windows options cannot be set for a linux pod",
  ],
  [
    "two files of one name",
    volume({
      projected: {
        sources: [
          { configMap: { name: "a", items: [{ key: "k", path: "p" }] } },
          { secret: { name: "b", items: [{ key: "k", path: "p" }] } },
        ],
      },
    }),
    'spec.volumes[0].projected: Invalid value: "b": conflicting duplicate paths',
  ],
  [
    "a token's life",
    {
      serviceAccountName: "a",
      ...volume({ projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 5 } }] } }),
    },
    "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes",
  ],
  [
    "a claim template without a size",
    volume({ ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } } }),
    "spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value",
  ],
  [
    "keys of labels without a selector",
    { topologySpreadConstraints: [spread({ matchLabelKeys: ["a"] })] },
    "spec.topologySpreadConstraints[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
  ],
  [
    "ephemeral containers from the start",
    { ephemeralContainers: [{ name: "e", image: "x" }] },
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
  ],
  [
    "a node behind gates",
    { nodeName: "n", schedulingGates: [{ name: "a.b/c" }] },
    "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
  ],
];

t.test("pods are refused by field", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, spec, says] of rows) {
    const { status, body } = await api.ask("POST", `${pods}?dryRun=All`, {
      metadata: { name: "p" },
      spec: { ...container({}), ...spec },
    });
    t.equal(status, 422, name);
    t.ok(body.message?.includes(says), `${name}: ${body.message}`);
  }
});

t.test("a pod's downward fields get their defaults", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const spec = {
    ...variable({ resourceFieldRef: { resource: "limits.cpu" } }),
    ...volume({ downwardAPI: { items: [{ path: "a", fieldRef: { fieldPath: "metadata.labels" } }] } }),
  };
  const { body } = await api.ask("POST", `${pods}?dryRun=All`, { metadata: { name: "p" }, spec });
  t.same(body.spec.containers[0].env[0].valueFrom.resourceFieldRef, { resource: "limits.cpu", divisor: "0" });
  t.equal(body.spec.volumes[0].downwardAPI.items[0].fieldRef.apiVersion, "v1");
});

t.test("a pod changes only by the rules", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const make = async (name: string, spec: Json) => {
    const { status, text } = await api.ask("POST", pods, { metadata: { name }, spec: { ...container({}), ...spec } });
    t.equal(status, 201, text);
  };
  const change = async (name: string, patch: Json, subresource = "") => {
    const { status, body } = await api.ask("PATCH", `${pods}/${name}${subresource}?dryRun=All`, patch, {
      "content-type": "application/strategic-merge-patch+json",
    });
    return status === 200 ? "taken" : `${body.message}`;
  };
  const toleration = { key: "k", operator: "Exists", effect: "NoExecute" };
  await make("plain", { activeDeadlineSeconds: 60, tolerations: [toleration] });
  t.match(await change("plain", { spec: { activeDeadlineSeconds: 30 } }), "taken");
  t.match(
    await change("plain", { spec: { activeDeadlineSeconds: 90 } }),
    "spec.activeDeadlineSeconds: Invalid value: 90: must be less than or equal to previous value",
  );
  t.match(
    await change("plain", { spec: { activeDeadlineSeconds: null } }),
    "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value",
  );
  t.match(await change("plain", { spec: { tolerations: [{ ...toleration, tolerationSeconds: 5 }] } }), "taken");
  t.match(
    await change("plain", { spec: { tolerations: [{ ...toleration, effect: "NoSchedule" }] } }),
    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
  );
  t.match(await change("plain", { spec: { nodeSelector: { a: "b" } } }), "spec: Forbidden: pod updates may not change");
  t.match(
    await change("plain", { spec: { terminationGracePeriodSeconds: 1 } }),
    "spec: Forbidden: pod updates may not change",
  );
  t.match(
    await change("plain", { metadata: { annotations: { "kubernetes.io/config.mirror": "x" } } }),
    "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation",
  );
  t.match(
    await change("plain", { metadata: { annotations: { "controller.kubernetes.io/pod-deletion-cost": "+1" } } }),
    "must be a 32bit integer",
  );

  const must = "requiredDuringSchedulingIgnoredDuringExecution";
  const affinity = (...keys: string[]) => ({
    nodeAffinity: {
      [must]: { nodeSelectorTerms: [{ matchExpressions: keys.map((key) => ({ key, operator: "Exists" })) }] },
    },
  });
  await make("gated", { schedulingGates: [{ name: "a/b" }], nodeSelector: { a: "b" }, affinity: affinity("k") });
  t.match(await change("gated", { spec: { nodeSelector: { c: "d" }, affinity: affinity("k", "l") } }), "taken");
  t.match(
    await change("gated", { spec: { nodeSelector: { a: "c" } } }),
    'spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
  );
  t.match(await change("gated", { spec: { affinity: affinity("l") } }), "nodeSelectorTerms[0]: Invalid value");
  t.match(
    await change("gated", { spec: { schedulingGates: [{ name: "a/b" }, { name: "c/d" }] } }),
    "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'c/d'",
  );

  await make("sized", container({ resources: { requests: { cpu: "1", memory: "1Gi" } } }));
  const resize = (value: Json) => change("sized", { spec: { containers: [{ name: "a", ...value }] } }, "/resize");
  t.match(await resize({ resources: { requests: { cpu: "2" } } }), "taken");
  t.match(
    await resize({ resources: { requests: { cpu: null } } }),
    "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
  );
  t.match(
    await resize({ resources: { limits: { cpu: "1", memory: "1Gi" } } }),
    'spec: Invalid value: "Guaranteed": Pod QOS Class may not change as a result of resizing',
  );
  t.match(
    await resize({ resources: { requests: { "ephemeral-storage": "1Gi" } } }),
    "spec: Forbidden: only cpu and memory resources are mutable",
  );
});
