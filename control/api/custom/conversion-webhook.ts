// Asks the webhook that a definition names to make objects of one version into those of another, and holds its answer to
// what a conversion may change: everything but the kind, and of the metadata labels and annotations only.

import { randomUUID } from "node:crypto";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { postTo, type WebhookReach } from "../../../plugins/kit/kube/client-config.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { parseJson } from "../../../plugins/kit/base/exact-json.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { statusFault } from "../../../plugins/kit/kube/status-fault.ts";
import type { Convert } from "../../resources/crd/conversion.ts";
import type { ConversionWebhook } from "../../resources/crd/types.ts";
import { validateAnnotations, validateLabels } from "../../resources/object-meta.ts";
import type { FieldErrors } from "../../machinery/field-error.ts";

const timeoutSeconds = 30;
const mostBytes = 16 << 20;

interface Review {
  kind?: string;
  apiVersion?: string;
  response?: {
    uid?: string;
    result?: { status?: string; message?: string };
    convertedObjects?: KubeObject[];
  };
}

export function conversionWebhook(webhook: ConversionWebhook, reach: WebhookReach): Convert {
  const version = webhook.conversionReviewVersions?.find((one) => one === "v1" || one === "v1beta1");
  return async (objects, apiVersion, call) => {
    if (!version) throw failed("no supported conversion review versions");
    const [group = "", kind = ""] = [objects[0]?.apiVersion, objects[0]?.kind];
    const what = `conversion webhook for ${group}, Kind=${kind}`;
    const uid = randomUUID();
    const review = {
      kind: "ConversionReview",
      apiVersion: `apiextensions.k8s.io/${version}`,
      request: { uid, desiredAPIVersion: apiVersion, objects },
    };
    const made = await ask(webhook, reach, review, call).catch((error: unknown) => {
      throw failed(`${what} failed: ${(error as Error).message}`);
    });
    if (made.length !== objects.length)
      throw failed(`${what} returned ${made.length} objects, expected ${objects.length}`);
    return objects.map((object, index) => {
      const place = objects.length === 1 ? "invalid object" : `invalid converted object at index ${index}`;
      try {
        return checked(object, made[index], apiVersion);
      } catch (error) {
        throw failed(`${what} returned ${place}: ${(error as Error).message}`);
      }
    });
  };
}

function failed(message: string): Fault {
  return statusFault("internal", message, { code: 500, reason: "" });
}

async function ask(
  { clientConfig = {} }: ConversionWebhook,
  reach: WebhookReach,
  review: { apiVersion: string; request: { uid: string } },
  call: Call,
): Promise<readonly unknown[]> {
  const response = await postTo(reach.target(clientConfig), { body: JSON.stringify(review), timeoutSeconds }, call);
  const text = await textOf(response);
  if (response.status !== 200)
    throw new Fault("unavailable", `the server answered ${response.status}: ${text.slice(0, 200)}`);
  return convertedIn(text, review);
}

async function textOf(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > mostBytes) throw new Fault("invalid", "its answer is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

function convertedIn(text: string, asked: { apiVersion: string; request: { uid: string } }): readonly unknown[] {
  let review: Review;
  try {
    review = parseJson(text) as Review;
  } catch (cause) {
    throw new Fault("invalid", "its answer is not JSON", { cause });
  }
  const isExact = asked.apiVersion.endsWith("/v1");
  if (isExact && (review.kind !== "ConversionReview" || review.apiVersion !== asked.apiVersion))
    throw new Fault(
      "invalid",
      `expected webhook response of ${asked.apiVersion}, Kind=ConversionReview, got ${review.apiVersion ?? ""}, Kind=${review.kind ?? ""}`,
    );
  const { response } = review;
  if (!response) throw new Fault("invalid", "no response provided");
  if (isExact && response.uid !== asked.request.uid)
    throw new Fault(
      "invalid",
      `expected response.uid=${JSON.stringify(asked.request.uid)}, got ${JSON.stringify(response.uid ?? "")}`,
    );
  const { status = "", message } = response.result ?? {};
  if (status !== "Success")
    throw new Fault("invalid", message || `response.result.status was '${status}', not 'Success'`);
  return Array.isArray(response.convertedObjects) ? response.convertedObjects : [];
}

/** The converted object with the metadata of the original, but for labels and annotations. */
function checked(original: KubeObject, made: unknown, apiVersion: string): KubeObject {
  if (typeof made !== "object" || made === null) throw new Fault("invalid", "it is no object");
  const object = made as KubeObject;
  if (object.apiVersion !== apiVersion)
    throw new Fault("invalid", `invalid groupVersion (expected ${apiVersion}, received ${object.apiVersion ?? ""})`);
  if (object.kind !== original.kind)
    throw new Fault("invalid", `invalid kind (expected ${original.kind ?? ""}, received ${object.kind ?? ""})`);
  const said = object.metadata as KubeObject["metadata"] | undefined;
  for (const [field, name] of [
    ["name", "name"],
    ["namespace", "namespace"],
    ["uid", "UID"],
  ] as const) {
    const [was = "", is = ""] = [original.metadata[field], said?.[field]];
    if (was !== is) throw new Fault("invalid", `must have the same ${name}: ${was} != ${is}`);
  }
  if (!said) throw new Fault("invalid", "missing metadata in converted object");
  const metadata = { ...original.metadata };
  for (const field of ["labels", "annotations"] as const) {
    const value = said[field];
    if (value === undefined || value === null) delete metadata[field];
    else metadata[field] = heldToRules(value, field);
  }
  return { ...object, metadata };
}

function heldToRules(value: unknown, field: "labels" | "annotations"): Record<string, string> {
  if (typeof value !== "object" || Array.isArray(value))
    throw new Fault("invalid", `invalid metadata.${field} of type ${typeof value} in converted object`);
  for (const [key, text] of Object.entries(value as Record<string, unknown>))
    if (typeof text !== "string")
      throw new Fault(
        "invalid",
        `metadata.${field}[${key}] must be a string, but is ${typeof text} in converted object`,
      );
  const map = value as Record<string, string>;
  const errors: FieldErrors =
    field === "labels" ? validateLabels(map, "metadata.labels") : validateAnnotations(map, "metadata.annotation");
  if (errors.length > 0)
    throw new Fault("invalid", errors.map((error) => `${error.field}: ${error.message}`).join(", "));
  return map;
}
