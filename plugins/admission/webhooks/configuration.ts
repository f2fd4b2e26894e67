// Webhook configurations as they are stored, in the order in which they are asked.

import type { AdmissionRequest } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import type { ClientConfig } from "../../kit/kube/client-config.ts";
import type { ClusterView } from "../../kit/kube/cluster-view.ts";
import type { KubeObject } from "../../kit/kube/objects/types.ts";
import type { MatchCondition } from "../cel/match-conditions.ts";
import {
  isExempt,
  type Matched,
  matchesSelectors,
  matchRules,
  type RuleWithOperations,
  type Selectors,
} from "../matching.ts";

export interface Webhook extends Selectors {
  name: string;
  clientConfig: ClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: string;
  sideEffects?: string;
  timeoutSeconds?: number;
  admissionReviewVersions?: string[];
  matchConditions?: MatchCondition[];
  reinvocationPolicy?: string;
}

interface WebhookConfiguration extends KubeObject {
  webhooks?: Webhook[];
}

const group = "admissionregistration.k8s.io";

export interface MatchingWebhook extends Matched {
  readonly webhook: Webhook;
}

/** Those whose rules and selectors speak of the request, by name of their configuration and then as listed. */
export async function matchingWebhooks(
  kind: "mutating" | "validating",
  request: AdmissionRequest,
  view: ClusterView,
  call: Call,
): Promise<MatchingWebhook[]> {
  if (isExempt(request)) return [];
  const all = view.informer<WebhookConfiguration>({ group, plural: `${kind}webhookconfigurations` }).list();
  if (all.length === 0) return [];
  const byName = (a: WebhookConfiguration, b: WebhookConfiguration) =>
    (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
  const matching: MatchingWebhook[] = [];
  for (const webhook of [...all].sort(byName).flatMap(({ webhooks }) => webhooks ?? [])) {
    const matched = matchRules(webhook.rules, request, webhook.matchPolicy);
    if (matched && (await matchesSelectors(webhook, request, view, call))) matching.push({ webhook, ...matched });
  }
  return matching;
}

export const hasWebhooks = (kind: "mutating" | "validating", view: ClusterView): boolean =>
  view.informer({ group, plural: `${kind}webhookconfigurations` }).list().length > 0;
