// APIService objects, as far as the server looks into them.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";

export interface ApiServiceCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface ApiService extends KubeObject {
  spec: {
    group?: string;
    version: string;
    /** Absent for what this server serves itself. */
    service?: { namespace: string; name: string; port?: number };
    caBundle?: string;
    insecureSkipTLSVerify?: boolean;
    groupPriorityMinimum: number;
    versionPriority: number;
  };
  status?: { conditions?: ApiServiceCondition[] };
}

export const apiServiceRef = { group: "apiregistration.k8s.io", plural: "apiservices" };

export function availabilityOf({ status }: ApiService): ApiServiceCondition | undefined {
  return status?.conditions?.find(({ type }) => type === "Available");
}

export const localCondition = {
  type: "Available",
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
} as const;
