// Asks a remote service by SubjectAccessReview. Answers are kept for a while; a service that cannot be reached has no opinion.

import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Authorizer, Decision } from "./contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import { fieldRequirements, labelRequirements } from "./selector-requirements.ts";

export interface WebhookAuthorizerOptions {
  readonly url: string;
  /** How the service is reached, with its CA and our credentials. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly clock: Clock;
  readonly log: Log;
  /** How long an answer is reused; 0 asks about every request. */
  readonly allowedTtlMs?: number;
  readonly refusedTtlMs?: number;
  readonly timeoutMs?: number;
}

const mostAnswers = 4096;
/** What a client can make longer than this is not worth its memory. */
const longestKey = 10_000;

export function webhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { allowedTtlMs = 300_000, refusedTtlMs = 30_000 } = options;
  const known = new Map<string, { decision: Decision; until: number }>();
  return {
    name: "Webhook",
    async authorize(attributes, call) {
      const spec = reviewSpec(attributes);
      const key = JSON.stringify(spec);
      const answer = known.get(key);
      if (answer && answer.until > options.clock.monotonic()) return answer.decision;
      try {
        const decision = await ask(spec, options, call);
        const ttl = decision.answer === "allow" ? allowedTtlMs : refusedTtlMs;
        if (ttl <= 0 || key.length > longestKey) return decision;
        if (known.size >= mostAnswers) known.clear();
        known.set(key, { decision, until: options.clock.monotonic() + ttl });
        return decision;
      } catch (error) {
        options.log.warn({ err: error, url: options.url }, "the authorization webhook gave no answer");
        return { answer: "no-opinion", reason: "the authorization webhook gave no answer" };
      }
    },
  };
}

function reviewSpec({ user, verb, resource, path }: Attributes): object {
  return {
    user: user.name,
    groups: user.groups,
    ...(user.uid ? { uid: user.uid } : {}),
    ...(user.extra ? { extra: user.extra } : {}),
    ...(resource
      ? { resourceAttributes: resourceAttributes(verb, resource) }
      : { nonResourceAttributes: { path, verb } }),
  };
}

/** What is empty is left out, as Go's encoder does. */
function resourceAttributes(verb: string, resource: NonNullable<Attributes["resource"]>): object {
  const { namespace, group, version, plural, subresource, name } = resource;
  const texts = { namespace, verb, group, version, resource: plural, subresource, name };
  const fields = fieldRequirements(resource.fieldSelector);
  const labels = labelRequirements(resource.labelSelector);
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== "")),
    ...(fields.length > 0 ? { fieldSelector: { requirements: fields } } : {}),
    ...(labels.length > 0 ? { labelSelector: { requirements: labels } } : {}),
  };
}

async function ask(spec: object, options: WebhookAuthorizerOptions, call: Call): Promise<Decision> {
  const response = await options.fetch(
    new Request(options.url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec }),
      signal: within(options.timeoutMs ?? 10_000, call).signal,
    }),
  );
  if (!response.ok) throw new Error(`it answered ${response.status}`);
  const { status } = (await response.json()) as { status?: { allowed?: boolean; denied?: boolean; reason?: string } };
  const reason = status?.reason ?? "";
  // One that says both is not believed.
  if (status?.denied) return { answer: "deny", reason };
  return { answer: status?.allowed ? "allow" : "no-opinion", reason };
}
