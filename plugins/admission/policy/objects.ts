// Validating admission policies and their bindings as they are stored.

import type { KubeObject } from "../../kit/kube/objects/types.ts";
import type { LabelSelector } from "../../kit/kube/selector.ts";
import type { MatchCondition } from "../cel/match-conditions.ts";
import type { RuleWithOperations, Selectors } from "../matching.ts";

export interface MatchResources extends Selectors {
  resourceRules?: RuleWithOperations[];
  excludeResourceRules?: RuleWithOperations[];
}

export interface Validation {
  expression: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
}

export interface Policy extends KubeObject {
  spec: {
    failurePolicy?: string;
    paramKind?: { apiVersion: string; kind: string };
    matchConstraints?: MatchResources;
    matchConditions?: MatchCondition[];
    variables?: { name: string; expression: string }[];
    validations?: Validation[];
    auditAnnotations?: { key: string; valueExpression: string }[];
  };
}

export interface PolicyBinding extends KubeObject {
  spec: {
    policyName: string;
    paramRef?: {
      name?: string;
      namespace?: string;
      selector?: LabelSelector;
      parameterNotFoundAction?: string;
    };
    matchResources?: MatchResources;
    validationActions?: string[];
  };
}
