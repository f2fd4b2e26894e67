// What is wrong with a status, told by field as upstream tells it.

import t from "tap";
import { type Json, startApi } from "../../test/harness/api-server.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const ingress = (more: Json) => ({ loadBalancer: { ingress: [more] } });
const first = "status.loadBalancer.ingress[0]";
const conditions = (...types: string[]) => ({ conditions: types.map((type) => ({ type, status: "True" })) });
const certificate = (text: string) => ({ certificate: base64(text) });

const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
const done = {
  startTime: at(1),
  completionTime: at(2),
  succeeded: 3,
  failed: 1,
  completedIndexes: "0-2",
  ...conditions("Complete", "SuccessCriteriaMet"),
};

const workload = {
  selector: { matchLabels: { a: "b" } },
  template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
};
const ran = (state: Json, beside?: Json) => ({
  qosClass: "BestEffort",
  containerStatuses: [{ name: "c", image: "i", imageID: "", ready: false, restartCount: 0, state }],
  ...(beside
    ? {
        initContainerStatuses: [
          { name: "beside", image: "i", imageID: "", ready: false, restartCount: 0, state: beside },
        ],
      }
    : {}),
});

/** The status, and what is said of it; nothing when it is right. They follow one another. */
type Row = [name: string, status: Json, says?: string];

interface Kind {
  readonly path: string;
  readonly object: Json;
  readonly rows: Row[];
  readonly subresource?: string;
}

const kinds: Record<string, Kind> = {
  "a balanced service": {
    path: "/api/v1/namespaces/default/services",
    object: { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } },
    rows: [
      ["an address", ingress({ ip: "1.2.3" }), `${first}.ip: Invalid value: "1.2.3": must be a valid IP address`],
      [
        "a mode",
        ingress({ ip: "192.0.2.1", ipMode: "Fax" }),
        `${first}.ipMode: Unsupported value: "Fax": supported values: "Proxy", "VIP"`,
      ],
      [
        "a mode of nothing",
        ingress({ hostname: "a.b", ipMode: "VIP" }),
        `${first}.ipMode: Forbidden: may not be specified when \`ip\` is not set`,
      ],
      ["a name", ingress({ hostname: "A" }), `${first}.hostname: Invalid value: "A": a lowercase RFC 1123 subdomain`],
      [
        "an address as a name",
        ingress({ hostname: "192.0.2.1" }),
        `${first}.hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address`,
      ],
      ["an address without a mode", ingress({ ip: "192.0.2.1" })],
    ],
  },
  "another service": {
    path: "/api/v1/namespaces/default/services",
    object: { spec: { ports: [{ port: 80 }] } },
    rows: [
      [
        "balanced",
        ingress({ ip: "192.0.2.1" }),
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
      ],
    ],
  },
  "a node": {
    path: "/api/v1/nodes",
    object: { status: { capacity: { cpu: "1" } } },
    rows: [
      [
        "less than nothing",
        { capacity: { cpu: "-1" } },
        'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
      ],
      [
        "half a pod",
        { allocatable: { pods: "1.5" } },
        'status.allocatable.pods: Invalid value: "1500m": must be an integer',
      ],
      [
        "an address twice",
        {
          addresses: [
            { type: "InternalIP", address: "192.0.2.1" },
            { type: "InternalIP", address: "192.0.2.1" },
          ],
        },
        "status.addresses[1]: Duplicate value",
      ],
      [
        "right",
        {
          capacity: { cpu: "1500m", pods: "110" },
          addresses: [
            { type: "InternalIP", address: "192.0.2.1" },
            { type: "ExternalIP", address: "192.0.2.1" },
          ],
        },
      ],
    ],
  },
  "a claim": {
    path: "/api/v1/namespaces/default/persistentvolumeclaims",
    object: { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
    rows: [
      [
        "less than nothing",
        { capacity: { storage: "-1" } },
        'status.capacity[storage]: Invalid value: "-1": must be a valid resource quantity',
      ],
      [
        "how far it is",
        { allocatedResourceStatuses: { storage: "Soon" } },
        'status.allocatedResourceStatus: Unsupported value: "storage": supported values: "ControllerResizeInProgress"',
      ],
      [
        "what it gets",
        { allocatedResources: { cpu: "1" } },
        'status.allocatedResources: Unsupported value: "cpu": supported values: "storage"',
      ],
      [
        "right",
        {
          phase: "Bound",
          capacity: { storage: "1Gi" },
          allocatedResources: { storage: "2Gi", "example.com/iops": "3" },
          allocatedResourceStatuses: { storage: "NodeResizePending" },
        },
      ],
    ],
  },
  "a pod": {
    path: "/api/v1/namespaces/default/pods",
    object: { spec: { containers: [{ name: "a", image: "x" }] } },
    rows: [
      [
        "a condition",
        conditions("a b"),
        'metadata.conditions[0].Type: Invalid value: "a b": name part must consist of',
      ],
      [
        "a node's name",
        { nominatedNodeName: "A" },
        'status.nominatedNodeName: Invalid value: "A": a lowercase RFC 1123 subdomain',
      ],
      ["another class", { qosClass: "Guaranteed" }, 'status.qosClass: Invalid value: "Guaranteed": field is immutable'],
      [
        "a claim",
        { resourceClaimStatuses: [{ name: "a" }] },
        'status.resourceClaimStatuses[0].name: Invalid value: "a": must match the name of an entry in `spec.resourceClaims`',
      ],
      ["an address", { podIPs: [{ ip: "a" }] }, 'status.podIPs[0]: Invalid value: "a": must be a valid IP address'],
      [
        "two addresses of a family",
        { podIPs: [{ ip: "192.0.2.1" }, { ip: "192.0.2.2" }] },
        "may specify no more than one IP for each IP family",
      ],
      [
        "another host",
        { hostIP: "192.0.2.1", hostIPs: [{ ip: "192.0.2.2" }] },
        'status.hostIPs[0].ip: Invalid value: "192.0.2.2": must be equal to `hostIP`',
      ],
      [
        "right",
        {
          ...conditions("Ready", "example.com/gate"),
          hostIP: "192.0.2.1",
          hostIPs: [{ ip: "192.0.2.1" }],
          podIP: "10.0.0.1",
          podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
        },
      ],
    ],
  },
  "a job": {
    path: "/apis/batch/v1/namespaces/default/jobs",
    object: {
      spec: {
        completions: 3,
        completionMode: "Indexed",
        template: { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "x" }] } },
      },
    },
    rows: [
      ["less than none", { active: -1 }, "status.active: Invalid value: -1: must be greater than or equal to 0"],
      ["ready without being", { ready: 1 }, "status.ready: Invalid value: 1: cannot set more ready pods than active"],
      [
        "a pod counted twice",
        { uncountedTerminatedPods: { succeeded: ["a"], failed: ["a"] } },
        'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
      ],
      [
        "indexes",
        { completedIndexes: "1,0" },
        "error parsing completedIndexes: non-increasing order, previous: 1, current: 0",
      ],
      ["an index", { completedIndexes: "0-3" }, 'error parsing completedIndexes: too large index: "3"'],
      ["failed indexes", { failedIndexes: "0" }, "cannot set non-null failedIndexes when backoffLimitPerIndex is null"],
      [
        "an end out of nothing",
        { ...conditions("Complete") },
        "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
      ],
      [
        "an end without a start",
        conditions("Failed", "FailureTarget"),
        "status.startTime: Required value: startTime is required for finished job",
      ],
      [
        "an end of no end",
        { completionTime: at(2) },
        "cannot set completionTime when there is no Complete=True condition",
      ],
      ["under way", { startTime: at(1), active: 1, ready: 1, succeeded: 1, failed: 1, completedIndexes: "0" }],
      [
        "another start",
        { startTime: at(2), succeeded: 1, failed: 1 },
        "status.startTime: Required value: startTime cannot be removed for unsuspended job",
      ],
      [
        "fewer failed",
        { startTime: at(1), succeeded: 1 },
        "status.failed: Invalid value: 0: cannot decrease the failed counter",
      ],
      [
        "fewer done",
        { startTime: at(1), failed: 1 },
        "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
      ],
      ["an end before the start", { ...done, completionTime: at(0) }, "completionTime cannot be set before startTime"],
      [
        "an end with work left",
        { ...done, active: 1 },
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
      ],
      ["done", done],
      ["done otherwise", { ...done, completionTime: at(3) }, "completionTime cannot be mutated"],
      ["not done", { ...done, conditions: [] }, "cannot disable the terminal Complete=True condition"],
    ],
  },
  "an autoscaler": {
    path: "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    object: { spec: { maxReplicas: 2, scaleTargetRef: { kind: "Deployment", name: "a", apiVersion: "apps/v1" } } },
    rows: [
      [
        "less than none",
        { currentReplicas: -1, desiredReplicas: -2 },
        "[status.currentReplicas: Invalid value: -1: must be greater than or equal to 0, status.desiredReplicas: Invalid value: -2",
      ],
      ["right", { currentReplicas: 1, desiredReplicas: 2 }],
    ],
  },
  "a request's approval": {
    path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    subresource: "approval",
    object: {
      spec: { request: base64("-----BEGIN CERTIFICATE REQUEST-----"), signerName: "a.b/c", usages: ["client auth"] },
    },
    rows: [
      ["of no type", conditions(""), "status.conditions[0].type: Required value"],
      ["twice", conditions("Approved", "Approved"), 'status.conditions[1].type: Duplicate value: "Approved"'],
      [
        "both ways",
        conditions("Approved", "Denied"),
        'status.conditions[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
      ],
      [
        "not",
        { conditions: [{ type: "Approved", status: "False" }] },
        'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
      ],
      ["approved", conditions("Approved")],
      [
        "taken back",
        { conditions: [] },
        'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
      ],
    ],
  },
  "a request": {
    path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    object: {
      spec: { request: base64("-----BEGIN CERTIFICATE REQUEST-----"), signerName: "a.b/c", usages: ["client auth"] },
    },
    rows: [
      [
        "decided by its signer",
        conditions("Denied"),
        'status.conditions: Forbidden: updates may not add a condition of type "Denied"',
      ],
      [
        "no certificate",
        certificate("none"),
        'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
      ],
      [
        "a key",
        certificate("-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"),
        'only CERTIFICATE PEM blocks are allowed, found "PRIVATE KEY"',
      ],
      [
        "nothing inside",
        certificate("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"),
        'status.certificate: Invalid value: "<certificate data>": ',
      ],
      ["failed", conditions("Failed")],
      [
        "failed no more",
        { conditions: [] },
        'status.conditions: Forbidden: updates may not remove a condition of type "Failed"',
      ],
    ],
  },
  "an ingress": {
    path: "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
    object: { spec: { defaultBackend: { service: { name: "a", port: { number: 80 } } } } },
    rows: [
      ["an address", ingress({ ip: "1.2.3" }), `${first}.ip: Invalid value: "1.2.3": must be a valid IP address`],
      ["a name", ingress({ hostname: "A" }), `${first}.hostname: Invalid value: "A": a lowercase RFC 1123 subdomain`],
      ["both", ingress({ ip: "192.0.2.1", hostname: "a.b" })],
    ],
  },
  "a replica set": {
    path: "/apis/apps/v1/namespaces/default/replicasets",
    object: { spec: workload },
    rows: [
      ["less than none", { replicas: -1 }, "status.replicas: Invalid value: -1: must be greater than or equal to 0"],
      [
        "more ready than there are",
        { replicas: 1, readyReplicas: 2 },
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
      ],
      [
        "more available than ready",
        { replicas: 2, readyReplicas: 1, availableReplicas: 2 },
        "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
      ],
      ["all of them", { replicas: 2, readyReplicas: 2, availableReplicas: 2, fullyLabeledReplicas: 2 }],
    ],
  },
  "a deployment": {
    path: "/apis/apps/v1/namespaces/default/deployments",
    object: { spec: workload },
    rows: [
      [
        "more new ones than there are",
        { replicas: 1, updatedReplicas: 2 },
        "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
      ],
      ["some", { replicas: 2, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, unavailableReplicas: 1 }],
    ],
  },
  "a stateful set": {
    path: "/apis/apps/v1/namespaces/default/statefulsets",
    object: { spec: { ...workload, serviceName: "a" } },
    rows: [
      [
        "more available than ready",
        { replicas: 2, availableReplicas: 1 },
        "status.availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas",
      ],
    ],
  },
  "a daemon set": {
    path: "/apis/apps/v1/namespaces/default/daemonsets",
    object: { spec: { selector: workload.selector, template: workload.template } },
    rows: [
      [
        "less than none",
        { numberReady: -1, currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0 },
        "status.numberReady: Invalid value: -1: must be greater than or equal to 0",
      ],
    ],
  },
  "a quota": {
    path: "/api/v1/namespaces/default/resourcequotas",
    object: { spec: { hard: { pods: "1" } } },
    rows: [
      [
        "a name that is not counted",
        { hard: { horses: "1" } },
        'status.hard[horses]: Invalid value: "horses": must be a standard resource for quota',
      ],
      ["half a pod", { used: { pods: "500m" } }, "status.used[pods]: Invalid value"],
      ["what is used", { hard: { pods: "1" }, used: { pods: "0" } }],
    ],
  },
  "a namespace": {
    path: "/api/v1/namespaces",
    object: {},
    rows: [
      [
        "an end that has not begun",
        { phase: "Terminating" },
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
      ],
      ["as it is", { phase: "Active" }],
    ],
  },
  "a pod that is not restarted": {
    path: "/api/v1/namespaces/default/pods",
    object: {
      spec: {
        restartPolicy: "Never",
        initContainers: [{ name: "beside", image: "i", restartPolicy: "Always" }],
        containers: [{ name: "c", image: "i" }],
      },
    },
    rows: [
      ["ended", ran({ terminated: { exitCode: 1 } }, { terminated: { exitCode: 1 } })],
      [
        "running again",
        ran({ running: {} }, { terminated: { exitCode: 1 } }),
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
      ],
      ["what runs beside it, again", ran({ terminated: { exitCode: 1 } }, { running: {} })],
    ],
  },
  "a pod that is restarted when it fails": {
    path: "/api/v1/namespaces/default/pods",
    object: { spec: { restartPolicy: "OnFailure", containers: [{ name: "c", image: "i" }] } },
    rows: [
      ["failed", ran({ terminated: { exitCode: 1 } })],
      ["again", ran({ running: {} })],
      ["done", ran({ terminated: { exitCode: 0 } })],
      [
        "again, for nothing",
        ran({ running: {} }),
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
      ],
    ],
  },
  "a job of indexes": {
    path: "/apis/batch/v1/namespaces/default/jobs",
    object: {
      spec: {
        completions: 5,
        parallelism: 5,
        completionMode: "Indexed",
        backoffLimitPerIndex: 1,
        template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } },
      },
    },
    rows: [
      [
        "done and failed at once",
        { completedIndexes: "0-2", failedIndexes: "2,4" },
        'status.failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at index: 2',
      ],
      ["some done, some failed", { completedIndexes: "0,2", failedIndexes: "1,4" }],
    ],
  },
};

t.test("a status is refused by field, and taken when it is right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  let count = 0;
  for (const [kind, { path, object, rows, subresource = "status" }] of Object.entries(kinds)) {
    const name = `x${count++}`;
    const made = await api.ask("POST", path, { metadata: { name }, ...object });
    t.equal(made.status, 201, `${kind}: ${made.text.slice(0, 300)}`);
    for (const [row, status, says] of rows) {
      const { spec } = (await api.ask("GET", `${path}/${name}`)).body;
      const put = { metadata: { name }, spec, status };
      const asked = await api.ask("PUT", `${path}/${name}/${subresource}`, put);
      t.equal(asked.status, says ? 422 : 200, `${kind}: ${row}: ${asked.text.slice(0, 300)}`);
      if (says) t.ok(asked.body.message.includes(says), `${kind}: ${row}: ${asked.body.message}`);
    }
  }
});

t.test("approval and finalize take labels and annotations, too", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const metadata = { name: "x", annotations: { by: "hand" } };
  const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const request = {
    request: base64("-----BEGIN CERTIFICATE REQUEST-----"),
    signerName: "a.b/c",
    usages: ["client auth"],
  };
  await api.ask("POST", requests, { metadata: { name: "x" }, spec: request });
  const status = conditions("Approved");
  const approved = await api.ask("PUT", `${requests}/x/approval`, { metadata, spec: request, status });
  t.same(approved.body.metadata.annotations, { by: "hand" });
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
  const put = { metadata, spec: { finalizers: ["kubernetes"] } };
  const finalized = await api.ask("PUT", "/api/v1/namespaces/x/finalize", put);
  t.same(finalized.body.metadata.annotations, { by: "hand" });
  t.equal(finalized.body.status.phase, "Active");
});

t.test("an address of a balancer is one that packets keep, unless it says otherwise", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const path = "/api/v1/namespaces/default/services";
  const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
  await api.ask("POST", path, { metadata: { name: "x" }, spec });
  const { body } = await api.ask("PUT", `${path}/x/status`, {
    metadata: { name: "x" },
    spec,
    status: ingress({ ip: "192.0.2.1" }),
  });
  t.same(body.status.loadBalancer.ingress, [{ ip: "192.0.2.1", ipMode: "VIP" }]);
});
