// The flow schemas and priority levels that every cluster begins with: upstream's names, shares and order.

import { mandatoryLevels, mandatorySchemas } from "../../resources/flow-control/mandatory.ts";
import type { FlowRule, FlowSubject } from "./types.ts";

const groups = (...names: string[]): FlowSubject[] => names.map((name) => ({ kind: "Group", group: { name } }));
const users = (...names: string[]): FlowSubject[] => names.map((name) => ({ kind: "User", user: { name } }));
const systemAccounts = (...names: string[]): FlowSubject[] =>
  names.map((name) => ({ kind: "ServiceAccount", serviceAccount: { namespace: "kube-system", name } }));

const everyone = groups("system:unauthenticated", "system:authenticated");
const nodes = groups("system:nodes");
const manager = "system:kube-controller-manager";

const everything: FlowRule = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

const taking = (apiGroup: string, ...resources: string[]) => ({
  verbs: ["get", "create", "update"],
  apiGroups: [apiGroup],
  resources,
  namespaces: ["*"],
});
const leases = taking("coordination.k8s.io", "leases");

interface Row {
  readonly level: string;
  readonly precedence: number;
  readonly flows?: "ByUser" | "ByNamespace";
  readonly rule: FlowRule;
}

const rows: Readonly<Record<string, Row>> = {
  probes: {
    level: "exempt",
    precedence: 2,
    rule: {
      subjects: everyone,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
    },
  },
  "system-leader-election": {
    level: "leader-election",
    precedence: 100,
    flows: "ByUser",
    rule: {
      subjects: [...users(manager, "system:kube-scheduler"), ...systemAccounts("*")],
      resourceRules: [leases],
    },
  },
  "endpoint-controller": {
    level: "workload-high",
    precedence: 150,
    flows: "ByUser",
    rule: {
      subjects: [...users(manager), ...systemAccounts("endpoint-controller", "endpointslicemirroring-controller")],
      resourceRules: [taking("", "endpoints")],
    },
  },
  "workload-leader-election": {
    level: "leader-election",
    precedence: 200,
    flows: "ByUser",
    rule: { subjects: systemAccounts("*"), resourceRules: [taking("", "endpoints", "configmaps"), leases] },
  },
  "system-node-high": {
    level: "node-high",
    precedence: 400,
    flows: "ByUser",
    rule: {
      subjects: nodes,
      resourceRules: [
        {
          verbs: ["*"],
          apiGroups: [""],
          resources: ["nodes", "nodes/status"],
          clusterScope: true,
          namespaces: ["*"],
        },
        { verbs: ["*"], apiGroups: ["coordination.k8s.io"], resources: ["leases"], namespaces: ["*"] },
      ],
    },
  },
  "system-nodes": { level: "system", precedence: 500, flows: "ByUser", rule: { subjects: nodes, ...everything } },
  "kube-controller-manager": {
    level: "workload-high",
    precedence: 800,
    flows: "ByNamespace",
    rule: { subjects: users(manager), ...everything },
  },
  "kube-scheduler": {
    level: "workload-high",
    precedence: 800,
    flows: "ByNamespace",
    rule: { subjects: users("system:kube-scheduler"), ...everything },
  },
  "kube-system-service-accounts": {
    level: "workload-high",
    precedence: 900,
    flows: "ByNamespace",
    rule: { subjects: systemAccounts("*"), ...everything },
  },
  "service-accounts": {
    level: "workload-low",
    precedence: 9000,
    flows: "ByUser",
    rule: { subjects: groups("system:serviceaccounts"), ...everything },
  },
  "global-default": {
    level: "global-default",
    precedence: 9900,
    flows: "ByUser",
    rule: { subjects: everyone, ...everything },
  },
};

/** Specs by name; the mandatory ones are fixed. */
export const bootstrapSchemas: ReadonlyMap<string, object> = new Map([
  ...mandatorySchemas,
  ...Object.entries(rows).map(([name, { level, precedence, flows, rule }]): [string, object] => [
    name,
    {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: precedence,
      ...(flows ? { distinguisherMethod: { type: flows } } : {}),
      rules: [rule],
    },
  ]),
]);

const level = (shares: number, lendablePercent: number, queues: number, handSize: number) => ({
  type: "Limited",
  limited: {
    nominalConcurrencyShares: shares,
    lendablePercent,
    limitResponse: { type: "Queue", queuing: { queues, handSize, queueLengthLimit: 50 } },
  },
});

export const bootstrapLevels: ReadonlyMap<string, object> = new Map<string, object>([
  ...mandatoryLevels,
  ["exempt", { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }],
  ["system", level(30, 33, 64, 6)],
  ["node-high", level(40, 25, 64, 6)],
  ["leader-election", level(10, 0, 16, 4)],
  ["workload-high", level(40, 50, 128, 6)],
  ["workload-low", level(100, 90, 128, 6)],
  ["global-default", level(20, 50, 128, 6)],
]);
