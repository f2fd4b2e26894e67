// Puts authentication and authorization together. The authorizers decide by objects that the API server caches, so most of them
// begin to work when `connect` hands over its informers; until then only system:masters may act.

import type { AdmissionPlugin } from "../../plugins/kit/contracts/admission.ts";
import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { ClusterView, GroupResource } from "../../plugins/kit/kube/cluster-view.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { TokenIssuer } from "./tokens/contract.ts";
import { anonymousAuthenticator } from "./anonymous.ts";
import { authorizeBy } from "./authorize.ts";
import { clientCertificateAuthenticator } from "./client-certificate.ts";
import type { Authenticator, Authorizer } from "./contract.ts";
import { mastersAuthorizer } from "./masters.ts";
import { nodeAuthorizer } from "./node/authorizer.ts";
import type { Pki } from "./pki.ts";
import { rbacAuthorizer } from "./rbac/authorizer.ts";
import { escalationGuard } from "./rbac/escalation.ts";
import { RuleResolver } from "./rbac/resolver.ts";
import { bearerAuthenticator } from "./tokens/bearer.ts";
import { bootstrapTokenAuthenticator } from "./tokens/bootstrap.ts";
import type { TokenAuthenticator } from "./tokens/contract.ts";
import { serviceAccountAuthenticator } from "./tokens/service-account.ts";
import { issueToken, type TokenIssuerOptions } from "./tokens/service-account-issue.ts";
import type { Informers } from "../storage/cache-informer.ts";

export interface AccessOptions {
  readonly pki: Pki;
  readonly clock: Clock;
  readonly clusterDomain: string;
}

/** The API server in this process. */
interface LocalApi {
  readonly informers: Informers;
  fetchAs(user: UserInfo): (request: Request) => Promise<Response>;
}

export interface Access {
  readonly authenticators: readonly Authenticator[];
  readonly authorizers: readonly Authorizer[];
  readonly tokenAuthenticators: readonly TokenAuthenticator[];
  /** Whom our own service account tokens are issued by and meant for. */
  readonly issuer: string;
  /** Checks of our own that stand behind the admission plugins; filled by `connect`. */
  readonly admission: readonly AdmissionPlugin[];
  readonly apiAudiences: readonly string[];
  /** Answers TokenRequests; Fault `unavailable` before `connect`. */
  readonly issueToken: TokenIssuer;
  /** Lets the authorizers see the cluster. The view is what admission plugins decide by, too. */
  connect(api: LocalApi): ClusterView;
  /** Adds what plugins bring, after our own. */
  extend(more: {
    authenticators: readonly Authenticator[];
    tokenAuthenticators: readonly TokenAuthenticator[];
    authorizers: readonly Authorizer[];
  }): void;
}

/** The control plane itself. */
export const systemUser: UserInfo = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };

export function openAccess({ pki, clock, clusterDomain }: AccessOptions): Access {
  const issuer = `https://kubernetes.default.svc.${clusterDomain}`;
  const tokenAuthenticators: TokenAuthenticator[] = [];
  const authorizers: Authorizer[] = [mastersAuthorizer];
  const admission: AdmissionPlugin[] = [];
  const plugged: Authenticator[] = [];
  const apiAudiences = [issuer];
  let issuing: TokenIssuerOptions | undefined;
  return {
    issuer,
    admission,
    apiAudiences,
    async issueToken(account, request, call) {
      if (!issuing) throw new Fault("unavailable", "Cannot issue a token: the server is still starting");
      return issueToken(account, request, issuing, call);
    },
    tokenAuthenticators,
    authorizers,
    authenticators: [
      clientCertificateAuthenticator(clock),
      firstOf(plugged),
      bearerAuthenticator(tokenAuthenticators, apiAudiences),
      anonymousAuthenticator,
    ],
    connect(api) {
      const view = clusterView(api, authorizers, clock);
      const of = <T extends object>(ref: ResourceRef) => view.informer<T>(ref);
      tokenAuthenticators.push(
        serviceAccountAuthenticator({ issuers: [issuer], keys: () => pki.serviceAccountKeys, view, clock }),
        bootstrapTokenAuthenticator(view, clock),
      );
      issuing = { issuer, apiAudiences, key: () => pki.serviceAccountKey, view, clock };
      const resolver = new RuleResolver({
        roles: of(resources.roles),
        clusterRoles: of(resources.clusterroles),
        roleBindings: of(resources.rolebindings),
        clusterRoleBindings: of(resources.clusterrolebindings),
      });
      admission.push(escalationGuard(resolver, view.mayDo));
      authorizers.push(
        nodeAuthorizer({
          pods: of(resources.pods),
          persistentVolumes: of(resources.persistentvolumes),
          volumeAttachments: of(resources.volumeattachments),
        }),
        rbacAuthorizer(resolver),
      );
      return view;
    },
    extend(more) {
      plugged.push(...more.authenticators);
      tokenAuthenticators.push(...more.tokenAuthenticators);
      authorizers.push(...more.authorizers);
    },
  };
}

/** Asks a list that may still grow. */
function firstOf(authenticators: readonly Authenticator[]): Authenticator {
  return {
    name: "plugins",
    async authenticate(credentials, call) {
      for (const authenticator of authenticators) {
        const user = await authenticator.authenticate(credentials, call);
        if (user) return user;
      }
      return undefined;
    },
  };
}

const refsById = new Map(Object.values(resources).map((ref) => [`${ref.group}/${ref.plural}`, ref]));

function clusterView(api: LocalApi, authorizers: readonly Authorizer[], clock: Clock): ClusterView {
  const client = new ApiClient({ fetch: api.fetchAs(systemUser), clock, userAgent: "apiserver" });
  const refOf = ({ group, plural }: GroupResource): ResourceRef => {
    const ref = refsById.get(`${group}/${plural}`);
    if (!ref) throw new Error(`no built-in resource is called "${plural}" in group "${group}"`);
    return ref;
  };
  return {
    informer: (of) => api.informers.for(of),
    async read<T extends object>(of: GroupResource, at: { namespace: string; name: string }, call: Call) {
      try {
        return await client.get<T>(refOf(of), at.namespace ? at : { name: at.name }, call);
      } catch (error) {
        if (isFault(error, "not-found")) return undefined;
        throw error;
      }
    },
    async updateStatus<T extends object>(of: GroupResource, object: T, call: Call) {
      try {
        return await client.update<T>(refOf(of), object as unknown as KubeObject, call, { subresource: "status" });
      } catch (error) {
        if (isFault(error, "conflict", "not-found")) return undefined;
        throw error;
      }
    },
    mayDo: async (question, call) => (await authorizeBy(authorizers, question, call)).answer === "allow",
  };
}
