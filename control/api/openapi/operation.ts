// What an operation is called, and which kind it is about: clients are generated from these names.

import type { ResourceDefinition } from "../../resources/definition.ts";
import type { Json } from "./item-parts.ts";

export interface Operation {
  readonly verb: "list" | "create" | "deletecollection" | "get" | "update" | "patch" | "delete" | "connect";
  readonly responses: Json;
  readonly parameters: readonly Json[];
  /** Of all namespaces. */
  readonly isEverywhere?: boolean;
  /** The subresource. */
  readonly part?: string;
  /** Of which kind the subresource is, where it is not the resource's own. */
  readonly shows?: { readonly group: string; readonly version: string; readonly kind: string };
  /** How a connection is asked for: `Get`. */
  readonly method?: string;
}

const words: Readonly<Record<string, string>> = { get: "read", update: "replace", deletecollection: "delete" };
const actions: Readonly<Record<string, string>> = { create: "post", update: "put" };

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

/** `rbacAuthorization_v1` of rbac.authorization.k8s.io/v1. */
export function tagOf({ group, version }: { group: string; version: string }): string {
  const [first = "", ...rest] = (group === "" ? "core" : group.replace(/\.k8s\.io$/, "")).split(/[.-]/);
  return `${first}${rest.map(capital).join("")}_${version}`;
}

export function operationOf(definition: ResourceDefinition): (operation: Operation) => Json {
  const tag = tagOf(definition);
  const home = tag.split("_").map(capital).join("");
  const { group, version, kind, namespaced } = definition;
  return ({ verb, responses, parameters, isEverywhere, part = "", shows, method = "" }) => {
    const word = words[verb] ?? verb;
    const collection = verb === "deletecollection" ? "Collection" : "";
    const scope = namespaced && !isEverywhere ? "Namespaced" : "";
    const below = part.split("/").map(capital).join("");
    return {
      tags: [tag],
      description: `${word} ${part ? `${part} of ` : ""}${kind}`,
      operationId: `${word}${home}${method}${collection}${scope}${kind}${below}${isEverywhere ? "ForAllNamespaces" : ""}`,
      "x-kubernetes-action": actions[verb] ?? verb,
      "x-kubernetes-group-version-kind": shows ?? { group, kind, version },
      // An empty list is left out: Go's readers take it for another document than the one they would write.
      ...(parameters.length > 0 ? { parameters } : {}),
      responses,
    };
  };
}
