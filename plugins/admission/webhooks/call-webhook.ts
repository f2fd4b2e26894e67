// One question to one webhook: the AdmissionReview that is sent, what may come back, and what a failure means.

import { randomUUID } from "node:crypto";
import type { AdmissionRequest } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import type { Clock } from "../../kit/base/clock.ts";
import { postTo, type WebhookReach } from "../../kit/kube/client-config.ts";
import type { ClusterView } from "../../kit/kube/cluster-view.ts";
import { Fault } from "../../kit/base/fault.ts";
import { refuseInexact } from "../../kit/base/inexact-integers.ts";
import type { Log } from "../../kit/base/log.ts";
import { badRequest, statusFault } from "../../kit/kube/status-fault.ts";
import { meetsConditions } from "../cel/match-conditions.ts";
import { requestFacts } from "../cel/variables.ts";
import type { Webhook } from "./configuration.ts";

export interface WebhookTools {
  readonly view: ClusterView;
  readonly log: Log;
  readonly clock: Clock;
  readonly reach: WebhookReach;
}

/** The JSON patch to apply, if any. */
export interface WebhookAnswer {
  readonly patch?: unknown;
}

interface ReviewResponse {
  uid?: string;
  allowed?: boolean;
  status?: { code?: number; reason?: string; message?: string; details?: object };
  patch?: string;
  patchType?: string;
  warnings?: string[];
  auditAnnotations?: Record<string, string>;
}

const mostBytes = 3 * 1024 * 1024;

/** Undefined when the webhook was not asked: its conditions do not hold, or it failed and may be ignored. Throws to refuse. */
export async function askWebhook(
  webhook: Webhook,
  request: AdmissionRequest,
  tools: WebhookTools,
  call: Call,
): Promise<WebhookAnswer | undefined> {
  try {
    if (!(await meetsConditions(webhook.matchConditions, request, tools.view, call))) return undefined;
  } catch (error) {
    return failed(webhook, error, tools, (text) => statusFault("forbidden", text, { code: 403, reason: "Forbidden" }));
  }
  if (request.dryRun && webhook.sideEffects !== "None" && webhook.sideEffects !== "NoneOnDryRun") {
    throw badRequest(`admission webhook ${JSON.stringify(webhook.name)} does not support dry run`);
  }
  let response: ReviewResponse;
  try {
    response = await post(webhook, request, tools, call);
  } catch (error) {
    return failed(webhook, error, tools, (text) =>
      statusFault("internal", `Internal error occurred: ${text}`, { code: 500, reason: "InternalError" }),
    );
  }
  for (const warning of response.warnings ?? []) request.warn(String(warning));
  for (const [key, value] of Object.entries(response.auditAnnotations ?? {})) {
    request.annotate?.(`${webhook.name}/${key}`, String(value));
  }
  if (response.allowed !== true) throw denied(webhook, response.status);
  if (!response.patch) return {};
  const text = Buffer.from(response.patch, "base64").toString("utf8");
  const patch: unknown = JSON.parse(text);
  refuseInexact(text, patch);
  return { patch };
}

function failed(webhook: Webhook, error: unknown, { log }: WebhookTools, refusal: (text: string) => Fault): undefined {
  const text = `failed calling webhook ${JSON.stringify(webhook.name)}: ${(error as Error).message}`;
  if (webhook.failurePolicy !== "Ignore") throw refusal(text);
  log.warn({ webhook: webhook.name, err: error }, "the admission webhook failed and is ignored");
  return undefined;
}

function denied({ name }: Webhook, status: ReviewResponse["status"]): Fault {
  const begin = `admission webhook ${JSON.stringify(name)} denied the request`;
  const said = status?.message || status?.reason;
  const code = Math.max(status?.code ?? 0, 400);
  return statusFault(
    code === 403 ? "forbidden" : "invalid",
    said ? `${begin}: ${said}` : `${begin} without explanation`,
    {
      code,
      reason: status?.reason ?? "",
      ...(status?.details ? { details: status.details } : {}),
    },
  );
}

async function post(
  webhook: Webhook,
  request: AdmissionRequest,
  tools: WebhookTools,
  call: Call,
): Promise<ReviewResponse> {
  const version = webhook.admissionReviewVersions?.find((each) => each === "v1" || each === "v1beta1");
  if (!version) throw new Fault("unsupported", "the webhook takes none of the review versions v1, v1beta1");
  const timeoutSeconds = Math.min(Math.max(webhook.timeoutSeconds ?? 10, 1), 30);
  const uid = randomUUID();
  const apiVersion = `admission.k8s.io/${version}`;
  const whole = { uid, ...requestFacts(request), object: request.object ?? null, oldObject: request.oldObject ?? null };
  const body = JSON.stringify({ apiVersion, kind: "AdmissionReview", request: whole });
  const target = tools.reach.target(webhook.clientConfig);
  const response = await postTo(target, { body, timeoutSeconds }, call).catch((cause: unknown) => {
    throw new Fault("unavailable", `failed to call webhook: ${(cause as Error).message}`, { cause });
  });
  const text = await limitedText(response);
  if (response.status !== 200) throw new Fault("unavailable", `failed to call webhook: it answered ${response.status}`);
  return checked(text, uid, apiVersion, webhook);
}

async function limitedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > mostBytes) throw new Fault("invalid", "failed to call webhook: its answer is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function checked(text: string, uid: string, apiVersion: string, webhook: Webhook): ReviewResponse {
  let review: { kind?: string; apiVersion?: string; response?: ReviewResponse };
  try {
    review = JSON.parse(text) as typeof review;
  } catch (cause) {
    throw new Fault("invalid", "failed to call webhook: its answer is not JSON", { cause });
  }
  const { response } = review;
  if (!response || typeof response !== "object") throw new Fault("invalid", "webhook response was absent");
  if (review.kind !== "AdmissionReview" || review.apiVersion !== apiVersion) {
    throw new Fault("invalid", `expected webhook response of ${apiVersion}, Kind=AdmissionReview`);
  }
  if (response.uid !== uid)
    throw new Fault("invalid", `expected response.uid=${uid}, got ${JSON.stringify(response.uid)}`);
  if (response.patch && response.patchType !== "JSONPatch") {
    throw new Fault("invalid", `webhook ${webhook.name} returned response.patch but not response.patchType=JSONPatch`);
  }
  return response;
}
