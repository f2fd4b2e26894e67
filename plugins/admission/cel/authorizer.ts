// The `authorizer` variable of expressions. Expressions never wait, access checks do: an unknown answer is noted and the
// evaluation given up; the answer is fetched and the expression evaluated again with it at hand.

import type { UserInfo } from "../../kit/kube/user-info.ts";
import type { Call } from "../../kit/base/call.ts";
import type { CelBudget, CelProgram } from "../../kit/kube/cel.ts";
import type { AccessQuestion, ClusterView } from "../../kit/kube/cluster-view.ts";
import { Fault } from "../../kit/base/fault.ts";

type Resource = NonNullable<AccessQuestion["resource"]>;

/** Questions and answers of one request. */
export class AccessSession {
  readonly user: UserInfo;
  readonly #view: ClusterView;
  readonly #answers = new Map<string, boolean>();
  #open: AccessQuestion[] = [];

  constructor(user: UserInfo, view: ClusterView) {
    this.user = user;
    this.#view = view;
  }

  ask(question: AccessQuestion): Decision {
    const answer = this.#answers.get(JSON.stringify(question));
    if (answer !== undefined) return new Decision(answer);
    this.#open.push(question);
    throw new Fault("unavailable", "the answer of the authorizer is not known yet");
  }

  /** Evaluates until every question that comes up has its answer. */
  async evaluate(
    program: CelProgram,
    values: Record<string, unknown>,
    budget: CelBudget,
    call: Call,
  ): Promise<unknown> {
    for (;;) {
      this.#open = [];
      let outcome: { value: unknown } | { error: unknown };
      try {
        outcome = { value: program.evaluate(values, budget) };
      } catch (error) {
        outcome = { error };
      }
      if (this.#open.length === 0) {
        if ("error" in outcome) throw outcome.error;
        return outcome.value;
      }
      for (const question of this.#open) {
        this.#answers.set(JSON.stringify(question), await this.#view.mayDo(question, call));
      }
    }
  }
}

class Decision {
  readonly isAllowed: boolean;
  constructor(isAllowed: boolean) {
    this.isAllowed = isAllowed;
  }
}

export class CelAuthorizer {
  readonly session: AccessSession;
  readonly user: UserInfo;
  readonly requestResource: ResourceCheck;
  constructor(session: AccessSession, user: UserInfo, requestResource: Resource) {
    this.session = session;
    this.user = user;
    this.requestResource = new ResourceCheck(session, user, requestResource);
  }
}

class PathCheck {
  readonly authorizer: CelAuthorizer;
  readonly path: string;
  constructor(authorizer: CelAuthorizer, path: string) {
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck {
  readonly authorizer: CelAuthorizer;
  readonly group: string;
  constructor(authorizer: CelAuthorizer, group: string) {
    this.authorizer = authorizer;
    this.group = group;
  }
}

class ResourceCheck {
  readonly session: AccessSession;
  readonly user: UserInfo;
  readonly resource: Resource;
  constructor(session: AccessSession, user: UserInfo, resource: Resource) {
    this.session = session;
    this.user = user;
    this.resource = resource;
  }
  with(change: Partial<Resource>): ResourceCheck {
    return new ResourceCheck(this.session, this.user, { ...this.resource, ...change });
  }
}

interface Registry {
  registerType(name: string, definition: never): unknown;
  registerFunction(signature: string, handler: (...operands: never[]) => unknown): unknown;
}

/** Passed as `extend` when compiling expressions that may use `authorizer`. */
export function authorizerFunctions(env: Registry): void {
  const prefix = "kubernetes.authorization.";
  const types = { Authorizer: CelAuthorizer, PathCheck, GroupCheck, ResourceCheck, Decision };
  for (const [name, ctor] of Object.entries(types)) {
    if (name !== "Authorizer") env.registerType(prefix + name, ctor as never);
  }
  const fields = { requestResource: `${prefix}ResourceCheck` };
  env.registerType(`${prefix}Authorizer`, { ctor: CelAuthorizer, fields } as never);
  const method = (signature: string, handler: (...operands: never[]) => unknown) =>
    env.registerFunction(prefix + signature, handler);
  method(
    `Authorizer.path(string): ${prefix}PathCheck`,
    (self: CelAuthorizer, path: string) => new PathCheck(self, path),
  );
  method(
    `Authorizer.group(string): ${prefix}GroupCheck`,
    (self: CelAuthorizer, group: string) => new GroupCheck(self, group),
  );
  method(
    `Authorizer.serviceAccount(string, string): ${prefix}Authorizer`,
    (self: CelAuthorizer, namespace: string, name: string) =>
      new CelAuthorizer(self.session, accountUser(namespace, name), self.requestResource.resource),
  );
  method(`GroupCheck.resource(string): ${prefix}ResourceCheck`, ({ authorizer, group }: GroupCheck, plural: string) => {
    const nothing = { version: "*", subresource: "", namespace: "", name: "" };
    return new ResourceCheck(authorizer.session, authorizer.user, { group, plural, ...nothing });
  });
  const narrow = (name: "subresource" | "namespace" | "name") =>
    method(`ResourceCheck.${name}(string): ${prefix}ResourceCheck`, (self: ResourceCheck, value: string) =>
      self.with({ [name]: value }),
    );
  narrow("subresource");
  narrow("namespace");
  narrow("name");
  method(`ResourceCheck.check(string): ${prefix}Decision`, ({ session, user, resource }: ResourceCheck, verb: string) =>
    session.ask({ user, verb, resource }),
  );
  method(`PathCheck.check(string): ${prefix}Decision`, ({ authorizer, path }: PathCheck, verb: string) =>
    authorizer.session.ask({ user: authorizer.user, verb, path }),
  );
  method("Decision.allowed(): bool", ({ isAllowed }: Decision) => isAllowed);
  method("Decision.reason(): string", () => "");
  method("Decision.errored(): bool", () => false);
  method("Decision.error(): string", () => "");
}

const accountUser = (namespace: string, name: string): UserInfo => ({
  name: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
});
