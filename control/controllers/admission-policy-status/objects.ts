// Validating admission policies, as far as their types are checked, and the kinds that they speak of.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";

export interface ResourceRule {
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
}

export interface AdmissionPolicy extends KubeObject {
  spec?: {
    paramKind?: { apiVersion?: string; kind?: string };
    matchConstraints?: { resourceRules?: ResourceRule[] };
    variables?: { name: string; expression: string }[];
    validations?: { expression: string; messageExpression?: string }[];
  };
  status?: { observedGeneration?: number };
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export interface GroupVersionKind extends GroupVersion {
  readonly kind: string;
}

export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}
