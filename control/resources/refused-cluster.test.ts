// What is wrong with webhooks, policies, drivers, classes, roles and volumes, told by field as upstream tells it. The rows
// were compared with kube-apiserver v1.32.

import t from "tap";
import { type Json, startApi } from "../../test/harness/api-server.ts";

const admission = "/apis/admissionregistration.k8s.io/v1";
const storage = "/apis/storage.k8s.io/v1";
const rbac = "/apis/rbac.authorization.k8s.io/v1";
const rule = { operations: ["CREATE"], apiGroups: ["z.z"], apiVersions: ["v1"], resources: ["p"], scope: "*" };
const webhook = (more: Json) => ({
  webhooks: [
    {
      name: "a.b.c",
      clientConfig: { service: { namespace: "d", name: "n" } },
      rules: [rule],
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      ...more,
    },
  ],
});
const policy = (more: Json) => ({
  spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "true" }], ...more },
});
const ref = { name: "n", parameterNotFoundAction: "Allow" };
const binding = (more: Json) => ({ spec: { policyName: "p", validationActions: ["Deny"], ...more } });
const ingressClass = (more: Json) => ({
  spec: { controller: "a.b/c", parameters: { apiGroup: "a.b", kind: "K", name: "n", ...more } },
});
const volume = (more: Json) => ({
  spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/a" }, ...more },
});
const runtime = (more: Json) => ({ handler: "h", scheduling: more });
const role = { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "r" };
const topology = { matchLabelExpressions: [{ key: "k", values: ["v"] }] };

/** The object without its name, and what is said of it; nothing when it is right. */
type Row = [object: Json, says?: string];

const kinds: Record<string, Row[]> = {
  [`${admission}/validatingwebhookconfigurations`]: [
    [webhook({})],
    [webhook({ rules: [{}] }), "webhooks[0].rules[0].operations: Required value"],
    [
      webhook({ rules: [{ ...rule, operations: ["EAT"] }] }),
      'webhooks[0].rules[0].operations[0]: Unsupported value: "EAT": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
    [webhook({ rules: [{ ...rule, resources: [""] }] }), "webhooks[0].rules[0].resources[0]: Required value"],
    [webhook({ rules: [{ ...rule, scope: "Moon" }] }), 'webhooks[0].rules[0].scope: Unsupported value: "Moon"'],
    [webhook({ matchPolicy: "Nearly" }), 'webhooks[0].matchPolicy: Unsupported value: "Nearly"'],
    [webhook({ admissionReviewVersions: ["v9"] }), "must include at least one of v1, v1beta1"],
    [
      webhook({ admissionReviewVersions: ["v1", "v1"] }),
      'webhooks[0].admissionReviewVersions[1]: Invalid value: "v1": duplicate version',
    ],
    [webhook({ matchConditions: [{ name: "m" }] }), "webhooks[0].matchConditions[0].expression: Required value"],
    [
      webhook({ namespaceSelector: { matchLabels: { a: "-x" } } }),
      'webhooks[0].namespaceSelector.matchLabels: Invalid value: "-x"',
    ],
  ],
  [`${admission}/validatingadmissionpolicies`]: [
    [policy({ paramKind: {} }), "spec.paramKind.apiVersion: Required value"],
    [
      policy({ matchConstraints: { resourceRules: [{ ...rule, resourceNames: ["x", "x"] }] } }),
      'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "x"',
    ],
    [policy({ variables: [{ name: "v", expression: "1" }] })],
    [
      policy({ validations: [{ expression: "true", reason: "Mood" }] }),
      "spec.validations[0].reason: Unsupported value",
    ],
    [
      policy({ variables: [{ name: "a-b", expression: "1" }] }),
      'spec.variables[0].name: Invalid value: "a-b": name is not a valid CEL identifier',
    ],
    [
      policy({ variables: [{ name: "a" }] }),
      "spec.variables[0].expression: Required value: expression is not specified",
    ],
    [
      policy({ auditAnnotations: [{ key: "k" }] }),
      "spec.auditAnnotations[0].valueExpression: Required value: valueExpression is not specified",
    ],
    [
      policy({ matchConstraints: { resourceRules: [{}] } }),
      "spec.matchConstraints.resourceRules[0].apiGroups: Required",
    ],
  ],
  [`${admission}/validatingadmissionpolicybindings`]: [
    [binding({ paramRef: ref })],
    [binding({ policyName: "A b" }), 'spec.policyName: Invalid value: "A b"'],
    [binding({ validationActions: ["Deny", "Deny"] }), 'spec.validationActions[1]: Duplicate value: "Deny"'],
    [binding({ paramRef: {} }), "spec.paramRef: Required value: one of name or selector must be specified"],
    [
      binding({ paramRef: { ...ref, parameterNotFoundAction: "Cry" } }),
      'spec.paramRef.parameterNotFoundAction: Unsupported value: "Cry"',
    ],
  ],
  [`${storage}/namespaces/default/csistoragecapacities`]: [
    [{ storageClassName: "A b" }, 'storageClassName: Invalid value: "A b": a lowercase RFC 1123 subdomain'],
    [
      { storageClassName: "c", nodeTopology: { matchLabels: { a: "-" } } },
      'nodeTopology.matchLabels: Invalid value: "-"',
    ],
  ],
  [`${admission}/mutatingwebhookconfigurations`]: [
    [
      webhook({ reinvocationPolicy: "Often" }),
      'webhooks[0].reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
    ],
  ],
  "/api/v1/namespaces/default/events": [
    [{ involvedObject: { namespace: "other" } }, 'involvedObject.namespace: Invalid value: "other"'],
    [
      {
        involvedObject: {},
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingComponent: "c",
        reason: "r",
        action: "a",
      },
      "reportingInstance: Required value",
    ],
  ],
  "/apis/events.k8s.io/v1/namespaces/default/events": [
    [{}, "eventTime: Required value"],
    [{ type: "Odd" }, 'type: Invalid value: "": has invalid value: Odd'],
    [{ deprecatedCount: 1 }, 'count: Invalid value: "": needs to be unset'],
    [{ series: { count: 1 } }, 'series.count: Invalid value: "": should be at least 2'],
  ],
  [`${storage}/storageclasses`]: [
    [{ provisioner: "p", allowedTopologies: [{}] }, 'allowedTopologies[0].matchLabelExpressions: Duplicate value: ""'],
    [{ provisioner: "a.b/c", allowedTopologies: [topology] }],
    [{ provisioner: "-x" }, 'provisioner: Invalid value: "-x"'],
    [
      { provisioner: "a.b/c", allowedTopologies: [topology, topology] },
      'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
    ],
    [
      { provisioner: "a.b/c", allowedTopologies: [{ matchLabelExpressions: [{ key: "k" }] }] },
      "allowedTopologies[0].matchLabelExpressions[0].values: Required value",
    ],
  ],
  [`${storage}/csidrivers`]: [
    [{ spec: { tokenRequests: [{ audience: "a", expirationSeconds: 600 }] } }],
    [{ spec: { volumeLifecycleModes: ["Brief"] } }, 'spec.volumeLifecycleModes: Unsupported value: "Brief"'],
    [{ spec: { fsGroupPolicy: "Some" } }, 'spec.fsGroupPolicy: Unsupported value: "Some"'],
    [
      { spec: { tokenRequests: [{ expirationSeconds: 1 }] } },
      "spec.tokenRequests[0].expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes",
    ],
  ],
  [`${storage}/csinodes`]: [
    [{ spec: { drivers: [{ name: "a.b", nodeID: "n", topologyKeys: ["k"] }] } }],
    [{ spec: { drivers: [{ name: "a b", nodeID: "n" }] } }, 'spec.drivers[0].name: Invalid value: "a b"'],
    [
      { spec: { drivers: [{ name: "a", nodeID: "n", allocatable: { count: -1 } }] } },
      "spec.drivers[0].allocatable.count: Invalid value: -1: must be greater than or equal to 0",
    ],
  ],
  [`${storage}/volumeattachments`]: [
    [{ spec: { attacher: "a.b", nodeName: "n", source: { persistentVolumeName: "p" } } }],
    [
      { spec: { attacher: "a.b", nodeName: "n" } },
      "spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName",
    ],
    [
      { spec: { attacher: "a/b", nodeName: "n", source: { persistentVolumeName: "p" } } },
      'spec.attacher: Invalid value: "a/b"',
    ],
  ],
  "/apis/networking.k8s.io/v1/ingressclasses": [
    [ingressClass({})],
    [{ spec: { controller: "a" } }, 'spec.controller: Invalid value: "a": must be a domain-prefixed path'],
    [ingressClass({ kind: "" }), "spec.parameters.kind: Required value: kind is required"],
    [ingressClass({ scope: "Moon" }), 'spec.parameters.scope: Unsupported value: "Moon"'],
    [
      ingressClass({ scope: "Namespace" }),
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
    [ingressClass({ namespace: "d" }), "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
  ],
  [`${rbac}/clusterroles`]: [
    [
      { rules: [{ verbs: ["get"], nonResourceURLs: ["/x"], resources: ["pods"] }] },
      'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [{ aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } }],
    [{ aggregationRule: {} }, "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector"],
  ],
  [`${rbac}/namespaces/default/rolebindings`]: [
    [{ roleRef: role, subjects: [{ kind: "ServiceAccount", name: "s", namespace: "d" }] }],
    [
      { roleRef: role, subjects: [{ kind: "User", name: "a", apiGroup: "b" }] },
      'subjects[0].apiGroup: Unsupported value: "b": supported values: "rbac.authorization.k8s.io"',
    ],
    [
      { roleRef: role, subjects: [{ kind: "ServiceAccount", name: "A b", namespace: "d" }] },
      'subjects[0].name: Invalid value: "A b"',
    ],
  ],
  "/apis/node.k8s.io/v1/runtimeclasses": [
    [runtime({ nodeSelector: { a: "b" }, tolerations: [{ key: "k", operator: "Exists" }] })],
    [runtime({ nodeSelector: { a: "-x" } }), 'scheduling.nodeSelector: Invalid value: "-x"'],
    [runtime({ tolerations: [{}] }), "scheduling.tolerations.tolerations[0].operator: Invalid value"],
  ],
  "/api/v1/persistentvolumes": [
    [volume({ volumeMode: "" }), 'spec.volumeMode: Unsupported value: "": supported values: "Block", "Filesystem"'],
    [volume({ flexVolume: {} }), "spec.flexVolume.driver: Required value"],
    [
      volume({ hostPath: null, csi: { driver: "d", volumeHandle: "h", nodeExpandSecretRef: { name: "A" } } }),
      "spec.csi.nodeExpandSecretRef.namespace: Required value",
    ],
    [
      volume({ hostPath: null, iscsi: { targetPortal: "p", iqn: "x" } }),
      'spec.iscsi.iqn: Invalid value: "x": must be valid format',
    ],
    [
      volume({ hostPath: null, glusterfs: { endpoints: "e", path: "p", endpointsNamespace: "" } }),
      'spec.glusterfs.endpointsNamespace: Invalid value: "": if the endpointnamespace is set, it must be a valid namespace name',
    ],
    [volume({ nodeAffinity: { required: { nodeSelectorTerms: [{}] } } })],
    [volume({ hostPath: { path: "/a", type: "Moon" } }), 'spec.hostPath.type: Unsupported value: "Moon"'],
    [
      volume({ nodeAffinity: { required: {} } }),
      "spec.nodeAffinity.required.nodeSelectorTerms: Required value: must have at least one node selector term",
    ],
  ],
  "/api/v1/namespaces": [[{}], [{ spec: { finalizers: ["a b"] } }, 'spec.finalizers: Invalid value: "a b"']],
};

t.test("each kind is refused by field, and taken when it is right", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [path, rows] of Object.entries(kinds))
    for (const [object, says] of rows) {
      const { status, body, text } = await api.ask("POST", `${path}?dryRun=All`, {
        metadata: { name: "x" },
        ...object,
      });
      t.equal(status, says ? 422 : 201, `${path}: ${text.slice(0, 300)}`);
      if (says) t.ok(body.message?.includes(says), `${path}: ${says}: ${body.message}`);
    }
});

t.test("what is left open is filled in as upstream fills it in", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const post = async (path: string, object: Json) =>
    (await api.ask("POST", `${path}?dryRun=All`, { metadata: { name: "x" }, ...object })).body;
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const behavior = { scaleDown: { stabilizationWindowSeconds: 5 } };
  const { spec } = await post("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", {
    spec: { scaleTargetRef: target, maxReplicas: 3, behavior },
  });
  t.match(spec.behavior, {
    scaleUp: {
      selectPolicy: "Max",
      policies: [
        { type: "Pods", value: 4 },
        { type: "Percent", value: 100 },
      ],
    },
    scaleDown: { stabilizationWindowSeconds: 5, selectPolicy: "Max", policies: [{ type: "Percent", value: 100 }] },
  });
  const pod = await post("/api/v1/namespaces/default/pods", {
    spec: { containers: [{ name: "c", image: "i" }], terminationGracePeriodSeconds: -1, dnsPolicy: "" },
  });
  t.match(pod.spec, { terminationGracePeriodSeconds: 1, dnsPolicy: "ClusterFirst" });
  t.ok((await post("/api/v1/persistentvolumes", volume({}))).status.lastPhaseTransitionTime);
});
