// Which rules hold for a user in a namespace, from live views of roles and bindings. Answers are remembered until
// any role or binding changes, so that the hot path of every request is one map look-up and a walk over few rules.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Informer } from "../../../plugins/kit/kube/informer.ts";
import type { ClusterRole, PolicyRule, Role, RoleBinding, RoleRef, Subject } from "./objects.ts";

export interface RbacViews {
  readonly roles: Informer<Role>;
  readonly clusterRoles: Informer<ClusterRole>;
  readonly roleBindings: Informer<RoleBinding>;
  readonly clusterRoleBindings: Informer<RoleBinding>;
}

/** One rule and where it comes from, in upstream's words for the reason of a decision. */
export interface GrantedRule {
  readonly rule: PolicyRule;
  readonly source: () => string;
}

export interface Granted {
  readonly rules: readonly GrantedRule[];
  /** Roles that bindings name and nobody made. */
  readonly problems: readonly string[];
}

const rememberedAnswers = 1024;

export class RuleResolver {
  readonly #views: RbacViews;
  readonly #remembered = new Map<string, Granted>();
  /** Cluster-wide bindings by subject key, and bindings of each namespace by the same; rebuilt when asked after a change. */
  #clusterIndex: Map<string, RoleBinding[]> | undefined;
  readonly #namespaceIndexes = new Map<string, Map<string, RoleBinding[]>>();

  constructor(views: RbacViews) {
    this.#views = views;
    const forget = () => this.#forget();
    for (const view of [views.roles, views.clusterRoles, views.roleBindings, views.clusterRoleBindings])
      view.onEvent(forget);
  }

  /** Rules of cluster bindings, and with a namespace those of its bindings too. */
  rulesFor(user: UserInfo, namespace: string): Granted {
    // Unambiguous whatever the names hold: a path, a certificate or a token may bring any character.
    const key = JSON.stringify([namespace, user.name, user.groups]);
    const known = this.#remembered.get(key);
    if (known) return known;
    const granted = this.#resolve(user, namespace);
    if (this.#remembered.size >= rememberedAnswers) this.#remembered.clear();
    this.#remembered.set(key, granted);
    return granted;
  }

  /** The rules of the role that a binding names; undefined when there is no such role. */
  rulesOfRef(ref: RoleRef, bindingNamespace: string): readonly PolicyRule[] | undefined {
    const role =
      ref.kind === "ClusterRole"
        ? this.#views.clusterRoles.get("", ref.name)
        : this.#views.roles.get(bindingNamespace, ref.name);
    return role && (role.rules ?? []);
  }

  #forget(): void {
    this.#remembered.clear();
    this.#clusterIndex = undefined;
    this.#namespaceIndexes.clear();
  }

  #resolve(user: UserInfo, namespace: string): Granted {
    const keys = subjectKeysOf(user);
    const rules: GrantedRule[] = [];
    const problems: string[] = [];
    this.#clusterIndex ??= indexBySubject(this.#views.clusterRoleBindings.list(), "");
    this.#collect(this.#clusterIndex, keys, "", rules, problems);
    if (namespace !== "") {
      let index = this.#namespaceIndexes.get(namespace);
      if (!index) {
        index = indexBySubject(this.#views.roleBindings.list(namespace), namespace);
        this.#namespaceIndexes.set(namespace, index);
      }
      this.#collect(index, keys, namespace, rules, problems);
    }
    return { rules, problems };
  }

  #collect(
    index: Map<string, RoleBinding[]>,
    keys: readonly string[],
    namespace: string,
    rules: GrantedRule[],
    problems: string[],
  ): void {
    const seen = new Set<RoleBinding>();
    for (const key of keys) {
      for (const binding of index.get(key) ?? []) {
        if (seen.has(binding)) continue;
        seen.add(binding);
        const found = this.rulesOfRef(binding.roleRef, namespace);
        if (!found) {
          problems.push(
            `${binding.roleRef.kind.toLowerCase()}.rbac.authorization.k8s.io "${binding.roleRef.name}" not found`,
          );
          continue;
        }
        const source = () => describeGrant(binding, key, namespace);
        for (const rule of found) rules.push({ rule, source });
      }
    }
  }
}

function subjectKeysOf(user: UserInfo): string[] {
  return [`u:${user.name}`, ...user.groups.map((group) => `g:${group}`)];
}

function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  if (subject.kind === "User") return `u:${subject.name}`;
  if (subject.kind === "Group") return `g:${subject.name}`;
  if (subject.kind !== "ServiceAccount") return undefined;
  const namespace = subject.namespace || bindingNamespace;
  return namespace === "" ? undefined : `u:system:serviceaccount:${namespace}:${subject.name}`;
}

function indexBySubject(bindings: readonly RoleBinding[], namespace: string): Map<string, RoleBinding[]> {
  const index = new Map<string, RoleBinding[]>();
  for (const binding of bindings) {
    for (const subject of binding.subjects ?? []) {
      const key = subjectKey(subject, namespace);
      if (key === undefined) continue;
      const list = index.get(key);
      if (!list) index.set(key, [binding]);
      else if (!list.includes(binding)) list.push(binding);
    }
  }
  return index;
}

function describeGrant(binding: RoleBinding, key: string, namespace: string): string {
  const subject = (binding.subjects ?? []).find((each) => subjectKey(each, namespace) === key);
  const kind = namespace === "" ? "ClusterRoleBinding" : "RoleBinding";
  const name = namespace === "" ? binding.metadata.name : `${binding.metadata.name}/${namespace}`;
  const to =
    subject?.kind === "ServiceAccount"
      ? `ServiceAccount "${subject.name}/${subject.namespace || namespace}"`
      : `${subject?.kind} "${subject?.name}"`;
  return `RBAC: allowed by ${kind} "${name}" of ${binding.roleRef.kind} "${binding.roleRef.name}" to ${to}`;
}
