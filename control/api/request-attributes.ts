// The attributes that a request is authorized by, derived once from its method, path and query, with the values that kube-apiserver's
// RequestInfo has. Plain requests, upgrades and watches all come here; nothing else may decide what a request is allowed as.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import { isTrue } from "../../plugins/kit/base/query-flag.ts";
import { parseLabelSelector } from "../../plugins/kit/kube/selector.ts";
import type { Attributes } from "../machinery/attributes.ts";
import { sortedFields } from "../auth/selector-requirements.ts";
import { decodePath, type ResourcePath } from "./path.ts";
import type { ApiRequest } from "../machinery/request.ts";

type Asked = Pick<ApiRequest, "method" | "path" | "query">;

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** "" for methods that are no verb of the API. */
export function verbOf({ method, query }: Asked, { prefix, name }: ResourcePath): string {
  if (prefix !== "") return prefix;
  const verb = Object.hasOwn(verbs, method) ? (verbs[method] ?? "") : "";
  if (name !== "") return verb;
  if (verb === "get") return isTrue(query.get("watch")) ? "watch" : "list";
  return verb === "delete" ? "deletecollection" : verb;
}

/** `path` is the parsed path of the request; undefined for one that is not of a resource. */
export function attributesOf(user: UserInfo, request: Asked, path: ResourcePath | undefined): Attributes {
  if (!path) return { user, verb: request.method.toLowerCase(), path: decodePath(request.path) };
  const { group, version, plural, subresource, namespace } = path;
  const verb = verbOf(request, path);
  const takesSelectors = path.prefix === "" && (verb === "list" || verb === "watch" || verb === "deletecollection");
  const fieldSelector = takesSelectors ? request.query.get("fieldSelector") : null;
  const labelSelector = takesSelectors ? request.query.get("labelSelector") : null;
  // A list or watch of one object by its name is authorized as if the path named it; a deletion of a collection is not.
  const selected = takesSelectors && verb !== "deletecollection" ? selectedName(request.query) : "";
  return {
    user,
    verb,
    resource: {
      group,
      version,
      plural,
      subresource,
      namespace,
      name: path.name === "" ? selected : path.name,
      ...(fieldSelector ? { fieldSelector } : {}),
      ...(labelSelector ? { labelSelector } : {}),
    },
  };
}

/** The name that the field selector demands. Options that cannot be read name nobody: the request will be refused for them. */
function selectedName(query: URLSearchParams): string {
  const text = query.get("fieldSelector");
  if (!text?.includes("metadata.name") || !["limit", "timeoutSeconds"].every((name) => isInteger(query.get(name))))
    return "";
  try {
    parseLabelSelector(query.get("labelSelector") ?? "");
    const name = sortedFields(text).find(({ field, op }) => field === "metadata.name" && op === "=")?.value ?? "";
    return nameProblem(name) === undefined ? name : "";
  } catch (error) {
    if (isFault(error)) return "";
    throw error;
  }
}

const isInteger = (text: string | null): boolean => text === null || /^[-+]?\d+$/.test(text);

/** Why a name cannot be a segment of a path. */
export function nameProblem(name: string): string | undefined {
  if (name === "." || name === "..") return `may not be '${name}'`;
  const odd = ["/", "%"].find((character) => name.includes(character));
  return odd === undefined ? undefined : `may not contain '${odd}'`;
}
