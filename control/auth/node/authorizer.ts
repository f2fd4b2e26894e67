// The Node authorizer: a node may do what the system:node role says, but reads secrets, config maps, claims, volumes and
// asks for tokens only for pods bound to it, and touches only its own node, lease and CSI node. Never denies.

import type { Informer } from "../../../plugins/kit/informer.ts";
import type { ObjectMeta, PersistentVolume, Pod } from "../../../plugins/kit/objects/types.ts";
import type { Attributes, Authorizer, Decision } from "../contract.ts";
import { bootstrapClusterRoles } from "../rbac/bootstrap-roles.ts";
import { ruleMatchesPath, ruleMatchesResource } from "../rbac/objects.ts";
import { podReferences, volumeSecretKeys } from "./pod-references.ts";

export interface NodeViews {
  readonly pods: Informer<Pod>;
  readonly persistentVolumes: Informer<PersistentVolume>;
  readonly volumeAttachments: Informer<{ metadata: ObjectMeta; spec?: { nodeName?: string } }>;
}

type Resource = NonNullable<Attributes["resource"]>;
type Check = (node: string, verb: string, resource: Resource, graph: NodeGraph) => string | undefined;

/** The node that a user is; undefined for everybody else. */
function nodeNameOf(user: { name: string; groups: readonly string[] }): string | undefined {
  const prefix = "system:node:";
  if (!user.groups.includes("system:nodes") || !user.name.startsWith(prefix)) return undefined;
  return user.name.slice(prefix.length) || undefined;
}

export function nodeAuthorizer(views: NodeViews): Authorizer {
  const graph = new NodeGraph(views);
  const rules = bootstrapClusterRoles().find(({ name }) => name === "system:node")?.rules ?? [];
  return {
    name: "Node",
    async authorize({ user, verb, resource, path }) {
      const node = nodeNameOf(user);
      if (!node) return noOpinion("");
      if (!resource) {
        const isAllowed = rules.some((rule) => ruleMatchesPath(rule, verb, path ?? ""));
        return isAllowed ? allow : noOpinion("");
      }
      const check = checks[`${resource.group}/${resource.plural}`];
      const why = check?.(node, verb, resource, graph);
      if (why !== undefined) return why === granted ? allow : noOpinion(why);
      return rules.some((rule) => ruleMatchesResource(rule, { verb, ...resource })) ? allow : noOpinion("");
    },
    // A node's powers follow from the pods on it and cannot be listed.
    rules: (user) => ({ resourceRules: [], nonResourceRules: [], incomplete: nodeNameOf(user) !== undefined }),
  };
}

const allow: Decision = { answer: "allow", reason: "" };
const noOpinion = (reason: string): Decision => ({ answer: "no-opinion", reason });
/** What a check answers to allow without asking the role; any other text is why not, and undefined asks the role. */
const granted = "";

const unrelated = (node: string) => `no relationship found between node '${node}' and this object`;
const readVerbs = new Set(["get", "list", "watch"]);
const leaseVerbs = new Set(["get", "create", "update", "patch", "delete"]);

const readNamed =
  (isRelated: (graph: NodeGraph, node: string, resource: Resource) => boolean, verbs = readVerbs): Check =>
  (node, verb, resource, graph) => {
    if (!verbs.has(verb)) return `can only ${[...verbs].join(", ")} resources of this type`;
    if (resource.subresource !== "") return "cannot read subresource";
    if (resource.name === "") return "can only read individual resources of this type";
    return isRelated(graph, node, resource) ? granted : unrelated(node);
  };

const getOnly = new Set(["get"]);

const ownObject: Check = (node, verb, resource) => {
  if (resource.subresource !== "") return "cannot authorize subresources";
  if (!leaseVerbs.has(verb)) return `can only ${[...leaseVerbs].join(", ")} its own object`;
  if (verb !== "create" && resource.name !== node) return `can only access an object with the same name as the node`;
  return granted;
};

const checks: Readonly<Record<string, Check>> = {
  "/secrets": readNamed((graph, node, { namespace, name }) => graph.usesSecret(node, namespace, name)),
  "/configmaps": readNamed((graph, node, { namespace, name }) =>
    graph.podsOf(node, namespace).some((pod) => podReferences(pod).configMaps.has(name)),
  ),
  "/persistentvolumeclaims": (node, verb, resource, graph) => {
    const uses = graph.usesClaim(node, resource.namespace, resource.name);
    if (resource.subresource === "status") {
      if (verb !== "get" && verb !== "update" && verb !== "patch") return "can only get, update or patch status";
      return uses ? granted : unrelated(node);
    }
    return readNamed(() => uses, getOnly)(node, verb, resource, graph);
  },
  "/persistentvolumes": readNamed((graph, node, { name }) => graph.usesVolume(node, name), getOnly),
  "storage.k8s.io/volumeattachments": readNamed(
    (graph, node, { name }) => graph.views.volumeAttachments.get("", name)?.spec?.nodeName === node,
    getOnly,
  ),
  "/serviceaccounts": (node, verb, { subresource, namespace, name }, graph) => {
    if (verb !== "create" || subresource !== "token") return "can only create tokens for individual service accounts";
    if (name === "") return "can only create tokens for individual service accounts";
    const isUsed = graph.podsOf(node, namespace).some((pod) => podReferences(pod).serviceAccount === name);
    return isUsed ? granted : unrelated(node);
  },
  "coordination.k8s.io/leases": (node, verb, resource, graph) =>
    resource.namespace === "kube-node-lease"
      ? ownObject(node, verb, resource, graph)
      : `can only access leases in the "kube-node-lease" system namespace`,
  "storage.k8s.io/csinodes": ownObject,
  "/nodes": (node, verb, resource) => {
    const isOwn = resource.name === node || selects(resource.fieldSelector, "metadata.name", node);
    if (readVerbs.has(verb))
      return isOwn ? granted : `node '${node}' cannot read '${resource.name}', only its own Node object`;
    if (verb === "create" && resource.subresource === "") return granted;
    if ((verb === "update" || verb === "patch") && ["", "status"].includes(resource.subresource)) {
      return isOwn ? granted : `node '${node}' cannot ${verb} '${resource.name}', only its own Node object`;
    }
    return undefined;
  },
  "/pods": (node, verb, resource, graph) => {
    const { subresource, namespace, name } = resource;
    if (subresource === "" && verb === "create") return granted;
    if (subresource === "" && (verb === "list" || verb === "watch")) {
      if (selects(resource.fieldSelector, "spec.nodeName", node)) return granted;
      if (name === "") return `can only list/watch pods with spec.nodeName field selector`;
    }
    const mayBe =
      (subresource === "" && (readVerbs.has(verb) || verb === "delete")) ||
      (subresource === "status" && (verb === "update" || verb === "patch")) ||
      (subresource === "eviction" && verb === "create");
    if (!mayBe || name === "") return undefined;
    return graph.views.pods.get(namespace, name)?.spec?.nodeName === node ? granted : unrelated(node);
  },
};

/** True when the field selector holds `field=value` among its requirements. */
function selects(fieldSelector: string | undefined, field: string, value: string): boolean {
  return (fieldSelector ?? "").split(",").some((part) => {
    const match = /^([^=!]+)==?(.*)$/.exec(part);
    return match?.[1] === field && match[2] === value;
  });
}

/** Pods by node, kept up to date by events, and the walks from them to what they use. */
class NodeGraph {
  readonly views: NodeViews;
  readonly #podsByNode = new Map<string, Map<string, Pod>>();

  constructor(views: NodeViews) {
    this.views = views;
    views.pods.onEvent(({ type, object, previous }) => {
      if (previous) this.#remove(previous);
      if (type === "delete") this.#remove(object);
      else this.#add(object);
    });
  }

  podsOf(node: string, namespace?: string): Pod[] {
    const pods = [...(this.#podsByNode.get(node)?.values() ?? [])];
    return namespace === undefined ? pods : pods.filter((pod) => pod.metadata.namespace === namespace);
  }

  usesClaim(node: string, namespace: string, name: string): boolean {
    return this.podsOf(node, namespace).some((pod) => podReferences(pod).claims.has(name));
  }

  usesVolume(node: string, name: string): boolean {
    const claim = this.views.persistentVolumes.get("", name)?.spec?.claimRef;
    return claim !== undefined && this.usesClaim(node, claim.namespace ?? "", claim.name ?? "");
  }

  usesSecret(node: string, namespace: string, name: string): boolean {
    if (this.podsOf(node, namespace).some((pod) => podReferences(pod).secrets.has(name))) return true;
    const key = `${namespace}/${name}`;
    return this.views.persistentVolumes.list().some((volume) => {
      const claim = volume.spec?.claimRef;
      return (
        claim && volumeSecretKeys(volume).includes(key) && this.usesClaim(node, claim.namespace ?? "", claim.name ?? "")
      );
    });
  }

  #add(pod: Pod): void {
    const node = pod.spec?.nodeName;
    if (!node) return;
    let pods = this.#podsByNode.get(node);
    if (!pods) {
      pods = new Map();
      this.#podsByNode.set(node, pods);
    }
    pods.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
  }

  #remove(pod: Pod): void {
    const node = pod.spec?.nodeName;
    const pods = node ? this.#podsByNode.get(node) : undefined;
    if (!node || !pods) return;
    pods.delete(`${pod.metadata.namespace}/${pod.metadata.name}`);
    if (pods.size === 0) this.#podsByNode.delete(node);
  }
}
