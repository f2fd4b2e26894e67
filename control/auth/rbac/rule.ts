// A compact way to write policy rules, as the tables of bootstrap roles do: comma-separated names in each place.

import type { PolicyRule } from "./objects.ts";

export const read = "get,list,watch";
export const write = "create,delete,deletecollection,patch,update";
export const everyVerb = "create,delete,deletecollection,get,list,patch,update,watch";

/** `core` stands for the legacy group, whose name is empty. */
export function rule(verbs: string, groups: string, resources: string, names?: string): PolicyRule {
  return {
    apiGroups: groups.split(",").map((group) => (group === "core" ? "" : group)),
    ...(names === undefined ? {} : { resourceNames: names.split(",") }),
    resources: resources.split(","),
    verbs: verbs.split(","),
  };
}

export function urlRule(verbs: string, urls: string): PolicyRule {
  return { nonResourceURLs: urls.split(","), verbs: verbs.split(",") };
}

export const eventsRule = (): PolicyRule => rule("create,patch,update", "core,events.k8s.io", "events");
