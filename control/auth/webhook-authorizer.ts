// Asks a remote service by SubjectAccessReview. Answers are kept for a while; a service that cannot be reached has no opinion.

import { type Call, within } from "../../plugins/kit/call.ts";
import type { Clock } from "../../plugins/kit/clock.ts";
import type { Log } from "../../plugins/kit/log.ts";
import type { Attributes, Authorizer, Decision } from "./contract.ts";

export interface WebhookAuthorizerOptions {
  readonly url: string;
  /** How the service is reached, with its CA and our credentials. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly clock: Clock;
  readonly log: Log;
  readonly allowedTtlMs?: number;
  readonly refusedTtlMs?: number;
  readonly timeoutMs?: number;
}

const mostAnswers = 4096;

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
        if (known.size >= mostAnswers) known.clear();
        const ttl = decision.answer === "allow" ? allowedTtlMs : refusedTtlMs;
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
      ? {
          resourceAttributes: {
            namespace: resource.namespace,
            verb,
            group: resource.group,
            version: resource.version,
            resource: resource.plural,
            ...(resource.subresource ? { subresource: resource.subresource } : {}),
            ...(resource.name ? { name: resource.name } : {}),
          },
        }
      : { nonResourceAttributes: { path, verb } }),
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
  if (status?.allowed) return { answer: "allow", reason };
  return { answer: status?.denied ? "deny" : "no-opinion", reason };
}
