// What the API path asks of authentication and authorization: who is this, and may they.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Peer } from "../../plugins/kit/os/platform/http-server.ts";
import { type Kind, kind } from "../../plugins/kit/base/plugin.ts";
import type { Attributes } from "../machinery/attributes.ts";

/** What a request shows of itself; headers are read, never changed. */
interface Credentials {
  readonly headers: Headers;
  readonly peer: Peer;
  /** The path asked for; where it is unknown nobody is let in without credentials. */
  readonly path?: string;
}

export interface Authenticator {
  readonly name: string;
  /** The user, or undefined for "not mine"; throws Fault `unauthorized` when the credentials are its kind but wrong. */
  authenticate(credentials: Credentials, call: Call): Promise<UserInfo | undefined>;
}

export interface Decision {
  readonly answer: "allow" | "deny" | "no-opinion";
  readonly reason: string;
}

export interface Authorizer {
  readonly name: string;
  authorize(attributes: Attributes, call: Call): Promise<Decision>;
  /** The rules that hold for a user in a namespace, for SelfSubjectRulesReview. */
  rules?(
    user: UserInfo,
    namespace: string,
  ): { resourceRules: ResourceRule[]; nonResourceRules: PathRule[]; incomplete: boolean };
}

export interface ResourceRule {
  verbs: string[];
  apiGroups: string[];
  resources: string[];
  resourceNames?: string[];
}

export interface PathRule {
  verbs: string[];
  nonResourceURLs: string[];
}

export const authenticatorKind: Kind<Authenticator> = kind("authenticator");
export const authorizerKind: Kind<Authorizer> = kind("authorizer");
