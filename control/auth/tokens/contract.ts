// What the authenticators of bearer tokens have in common; one adapter makes an Authenticator of them all.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { KubeObject, ServiceAccount } from "../../../plugins/kit/kube/objects/types.ts";
import { type Kind, kind } from "../../../plugins/kit/base/plugin.ts";

interface TokenAnswer {
  readonly user: UserInfo;
  /** The asked-for audiences that the token is good for, where tokens of this kind have any. */
  readonly audiences?: readonly string[];
}

export interface TokenAuthenticator {
  readonly name: string;
  /** Undefined for "not mine"; Fault `unauthorized` for one of its kind that is not good. */
  authenticateToken(token: string, audiences: readonly string[], call: Call): Promise<TokenAnswer | undefined>;
}

export const tokenAuthenticatorKind: Kind<TokenAuthenticator> = kind("token-authenticator");

/** Answers a TokenRequest for the account. */
export type TokenIssuer = (account: ServiceAccount, request: KubeObject, call: Call) => Promise<object>;
