// Options of writes: from the query, and for deletions also from the body.

import { isTrue } from "../../plugins/kit/base/query-flag.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { decodeBody } from "./body.ts";
import type { ApiRequest } from "../machinery/request.ts";
import type { Scope } from "./scope.ts";
import { invalid, notListed, notSupported } from "../machinery/field-error.ts";
import { invalidOptions, managerErrors, type OptionsKind } from "./check-options.ts";
import { badRequest } from "../machinery/status.ts";

const validations = ["", "Ignore", "Strict", "Warn"];
const kinds: Readonly<Record<string, OptionsKind>> = {
  POST: "CreateOptions",
  PUT: "UpdateOptions",
  PATCH: "PatchOptions",
};

export function isDryRun(query: URLSearchParams, method: string): boolean {
  // An empty value counts: whoever sends one does not mean the write to happen.
  const values = query.getAll("dryRun");
  checkDryRun(values, kinds[method] ?? "DeleteOptions");
  return values.length > 0;
}

function checkDryRun(values: readonly unknown[], kind: OptionsKind): void {
  if (values.some((value) => value !== "All")) throw invalidOptions(kind, [notSupported("dryRun", values, ["All"])]);
}

/** The options as an object, for webhooks. */
export function writeOptions(scope: Scope, kind: "CreateOptions" | "UpdateOptions" | "PatchOptions"): KubeObject {
  const { query } = scope.request;
  const manager = query.get("fieldManager");
  const errors = managerErrors(manager ?? "");
  const validation = query.get("fieldValidation");
  if (validation && !validations.includes(validation))
    errors.push(notSupported("fieldValidation", validation, validations));
  if (errors.length > 0) throw invalidOptions(kind, errors);
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
  const given = body.length === 0 ? {} : decodeBody(body, request.headers.get("content-type"), "DeleteOptions").value;
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
    kind?: unknown;
  };
  // Who means a dry run, or something else than a deletion, must not lose the object.
  if (options.kind !== undefined && options.kind !== "" && options.kind !== "DeleteOptions")
    throw badRequest(`the body of a deletion must be DeleteOptions, not ${JSON.stringify(options.kind)}`);
  if (options.dryRun !== undefined && options.dryRun !== null && !Array.isArray(options.dryRun))
    throw badRequest("json: cannot unmarshal into Go struct field DeleteOptions.dryRun of type []string");
  const grace = options.gracePeriodSeconds ?? numberIn(query, "gracePeriodSeconds");
  if (grace !== undefined && grace !== null && (typeof grace !== "number" || !Number.isInteger(grace)))
    throw badRequest("gracePeriodSeconds must be a whole number");
  let policy = options.propagationPolicy ?? query.get("propagationPolicy") ?? undefined;
  const orphan =
    options.orphanDependents ?? (query.has("orphanDependents") ? isTrue(query.get("orphanDependents")) : undefined);
  if (policy === "") policy = undefined;
  if (policy !== undefined && orphan !== undefined)
    throw invalidOptions("DeleteOptions", [
      invalid("propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"),
    ]);
  if (policy === undefined && orphan !== undefined) policy = orphan ? "Orphan" : "Background";
  if (policy !== undefined && !policies.has(String(policy)))
    throw invalidOptions("DeleteOptions", [
      notListed("propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"]),
    ]);
  const preconditions: { uid?: string; resourceVersion?: string } = {};
  if (typeof options.preconditions?.uid === "string") preconditions.uid = options.preconditions.uid;
  if (typeof options.preconditions?.resourceVersion === "string")
    preconditions.resourceVersion = options.preconditions.resourceVersion;
  const dry = Array.isArray(options.dryRun) && options.dryRun.length > 0;
  if (dry) checkDryRun(options.dryRun as unknown[], "DeleteOptions");
  return {
    gracePeriodSeconds: typeof grace === "number" ? grace : undefined,
    propagationPolicy: policy as DeleteOptions["propagationPolicy"],
    preconditions,
    dryRun: dry || isDryRun(query, "DELETE"),
    raw: { ...given, kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" } as unknown as KubeObject,
  };
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d{1,12}$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 50))}: invalid syntax`);
  return Number(text);
}
