// Asks the webhooks that users configured: mutating ones one after the other, validating ones all at once.

import type { AdmissionRequest } from "../kit/contracts/admission.ts";
import { type AdmissionPlugin, admissionKind } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import { WebhookReach } from "../kit/kube/client-config.ts";
import { clusterViewKind } from "../kit/kube/cluster-view.ts";
import { Fault, toFault } from "../kit/base/fault.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { applyJsonPatch } from "../kit/kube/patch/json-patch.ts";
import type { Host, Plugin } from "../kit/base/plugin.ts";
import { statusFault } from "../kit/kube/status-fault.ts";
import { askWebhook, type WebhookTools } from "./webhooks/call-webhook.ts";
import { seenAs } from "./matching.ts";
import { hasWebhooks, type MatchingWebhook, matchingWebhooks } from "./webhooks/configuration.ts";

function open(host: Host<undefined>): WebhookTools {
  const [view] = host.all(clusterViewKind);
  if (!view) throw new Fault("internal", "Webhooks were opened without a view of the cluster");
  const reach = new WebhookReach(view);
  host.onClose(() => reach.close());
  return { view, log: host.log, clock: host.clock, reach };
}

export const mutatingAdmissionWebhook: Plugin<AdmissionPlugin, undefined> = {
  kind: admissionKind,
  name: "MutatingAdmissionWebhook",
  needs: [clusterViewKind],
  open(host) {
    const tools = open(host);
    /** What the object looked like when each webhook that may be asked again had seen it. */
    const seenBy = new WeakMap<AdmissionRequest, Map<MatchingWebhook, string>>();
    return {
      name: "MutatingAdmissionWebhook",
      handles: () => hasWebhooks("mutating", tools.view),
      async mutate(request, call) {
        const seen = new Map<MatchingWebhook, string>();
        seenBy.set(request, seen);
        for (const matching of await matchingWebhooks("mutating", request, tools.view, call)) {
          await mutateBy(matching, request, tools, call);
          if (matching.webhook.reinvocationPolicy === "IfNeeded") seen.set(matching, JSON.stringify(request.object));
        }
      },
      async reinvoke(request, call) {
        for (const [matching, before] of seenBy.get(request) ?? []) {
          if (JSON.stringify(request.object) !== before) await mutateBy(matching, request, tools, call);
        }
      },
    };
  },
};

/** Tells the request how long strangers took. */
async function timed<T>(request: AdmissionRequest, { clock }: WebhookTools, ask: () => Promise<T>): Promise<T> {
  const startedAt = clock.monotonic();
  try {
    return await ask();
  } finally {
    request.waited?.(clock.monotonic() - startedAt);
  }
}

async function mutateBy(
  { webhook, as }: MatchingWebhook,
  request: AdmissionRequest,
  tools: WebhookTools,
  call: Call,
): Promise<void> {
  const seen = await seenAs(request, as, call);
  const answer = await timed(request, tools, () => askWebhook(webhook, seen, tools, call));
  if (answer?.patch === undefined || !request.object) return;
  let next: unknown;
  try {
    next = applyJsonPatch(seen.object, answer.patch);
  } catch (error) {
    const { message } = toFault(error, "the patch");
    throw statusFault(
      "internal",
      `Internal error occurred: failed calling webhook ${JSON.stringify(webhook.name)}: ${message}`,
      {
        code: 500,
        reason: "InternalError",
      },
    );
  }
  replaceContent(request.object, as ? await as.from(next as KubeObject, call) : (next as KubeObject));
}

/** Others hold on to the object, so it keeps its identity and gets the other's content. */
function replaceContent(object: KubeObject, next: KubeObject): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(next, key)) delete object[key];
  Object.assign(object, next);
}

export const validatingAdmissionWebhook: Plugin<AdmissionPlugin, undefined> = {
  kind: admissionKind,
  name: "ValidatingAdmissionWebhook",
  needs: [clusterViewKind],
  open(host) {
    const tools = open(host);
    return {
      name: "ValidatingAdmissionWebhook",
      handles: () => hasWebhooks("validating", tools.view),
      async validate(request, call) {
        const asked = await matchingWebhooks("validating", request, tools.view, call);
        const answers = await timed(request, tools, () =>
          Promise.allSettled(
            asked.map(async ({ webhook, as }) => askWebhook(webhook, await seenAs(request, as, call), tools, call)),
          ),
        );
        const refusal = answers.find((answer) => answer.status === "rejected");
        if (refusal) throw refusal.reason;
      },
    };
  },
};
