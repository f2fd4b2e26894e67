// Options of writes: from the query, and for deletions also from the body.

import { isTrue } from "../../plugins/kit/query-flag.ts";
import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { decodeBody } from "./body.ts";
import type { ApiRequest } from "./request.ts";
import type { Scope } from "./scope.ts";
import { badRequest } from "./status.ts";

export function isDryRun(query: URLSearchParams): boolean {
  const values = query.getAll("dryRun").filter((value) => value !== "");
  for (const value of values)
    if (value !== "All")
      throw badRequest(`dryRun: Unsupported value: ${JSON.stringify(value)}: supported values: "All"`);
  return values.length > 0;
}

/** The options as an object, for webhooks. */
export function writeOptions(scope: Scope, kind: "CreateOptions" | "UpdateOptions" | "PatchOptions"): KubeObject {
  const { query } = scope.request;
  const manager = query.get("fieldManager");
  if (manager !== null && (manager.length > 128 || !/^[\x20-\x7e]*$/.test(manager)))
    throw badRequest("fieldManager: Invalid value: must be at most 128 printable characters");
  const validation = query.get("fieldValidation");
  return {
    kind,
    apiVersion: "meta.k8s.io/v1",
    ...(scope.dryRun ? { dryRun: ["All"] } : {}),
    ...(manager ? { fieldManager: manager } : {}),
    ...(validation ? { fieldValidation: validation } : {}),
  } as unknown as KubeObject;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: "Orphan" | "Background" | "Foreground" | undefined;
  readonly preconditions: { uid?: string; resourceVersion?: string };
  readonly dryRun: boolean;
  readonly raw: KubeObject;
}

const policies = new Set(["Orphan", "Background", "Foreground"]);

export async function deleteOptions(request: ApiRequest): Promise<DeleteOptions> {
  const body = await request.body();
  const given = body.length === 0 ? {} : decodeBody(body, request.headers.get("content-type")).value;
  return readDeleteOptions(given, request.query);
}

/** Options given as an object, completed by those in the query. */
export function readDeleteOptions(given: unknown, query: URLSearchParams): DeleteOptions {
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw badRequest("DeleteOptions must be an object");
  const options = given as {
    gracePeriodSeconds?: unknown;
    propagationPolicy?: unknown;
    orphanDependents?: unknown;
    preconditions?: { uid?: unknown; resourceVersion?: unknown } | null;
    dryRun?: unknown;
  };
  const grace = options.gracePeriodSeconds ?? numberIn(query, "gracePeriodSeconds");
  if (grace !== undefined && grace !== null && (typeof grace !== "number" || !Number.isInteger(grace)))
    throw badRequest("gracePeriodSeconds must be a whole number");
  let policy = options.propagationPolicy ?? query.get("propagationPolicy") ?? undefined;
  const orphan =
    options.orphanDependents ?? (query.has("orphanDependents") ? isTrue(query.get("orphanDependents")) : undefined);
  if (policy === "") policy = undefined;
  if (policy !== undefined && orphan !== undefined)
    throw badRequest("orphanDependents and propagationPolicy cannot be both set");
  if (policy === undefined && orphan !== undefined) policy = orphan ? "Orphan" : "Background";
  if (policy !== undefined && !policies.has(String(policy)))
    throw badRequest(
      `DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: ${JSON.stringify(policy)}: supported values: "Background", "Foreground", "Orphan"`,
    );
  const preconditions: { uid?: string; resourceVersion?: string } = {};
  if (typeof options.preconditions?.uid === "string") preconditions.uid = options.preconditions.uid;
  if (typeof options.preconditions?.resourceVersion === "string")
    preconditions.resourceVersion = options.preconditions.resourceVersion;
  const dry = Array.isArray(options.dryRun) && options.dryRun.length > 0;
  if (dry && (options.dryRun as unknown[]).some((value) => value !== "All"))
    throw badRequest('dryRun: Unsupported value: supported values: "All"');
  return {
    gracePeriodSeconds: typeof grace === "number" ? grace : undefined,
    propagationPolicy: policy as DeleteOptions["propagationPolicy"],
    preconditions,
    dryRun: dry || isDryRun(query),
    raw: { ...given, kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" } as unknown as KubeObject,
  };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,12}$/.test(text)) throw badRequest(`${name} must be a whole number`);
  return Number(text);
}
