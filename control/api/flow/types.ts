// FlowSchemas and PriorityLevelConfigurations, as far as the server looks into them.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";

export interface FlowSubject {
  kind?: string;
  user?: { name?: string };
  group?: { name?: string };
  serviceAccount?: { namespace?: string; name?: string };
}

export interface FlowRule {
  subjects?: FlowSubject[];
  resourceRules?: {
    verbs?: string[];
    apiGroups?: string[];
    resources?: string[];
    clusterScope?: boolean;
    namespaces?: string[];
  }[];
  nonResourceRules?: { verbs?: string[]; nonResourceURLs?: string[] }[];
}

export interface FlowSchema extends KubeObject {
  spec: {
    priorityLevelConfiguration: { name: string };
    matchingPrecedence?: number;
    distinguisherMethod?: { type?: string } | null;
    rules?: FlowRule[] | null;
  };
  status?: {
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[];
  };
}

export interface PriorityLevel extends KubeObject {
  spec: {
    type?: string;
    limited?: {
      nominalConcurrencyShares?: number;
      lendablePercent?: number;
      borrowingLimitPercent?: number | null;
      limitResponse?: {
        type?: string;
        queuing?: { queues?: number; handSize?: number; queueLengthLimit?: number } | null;
      };
    } | null;
    exempt?: { nominalConcurrencyShares?: number; lendablePercent?: number } | null;
  };
}

const group = "flowcontrol.apiserver.k8s.io";
export const flowSchemaRef = { group, plural: "flowschemas" };
export const priorityLevelRef = { group, plural: "prioritylevelconfigurations" };
