// Access reviews and token reviews: questions to the server's own authenticators and authorizers.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import type { Authorizer } from "../auth/contract.ts";
import {
  type AccessReview,
  evaluateAccessReview,
  evaluateRulesReview,
  evaluateSelfReview,
  evaluateTokenReview,
  type RulesReview,
  type TokenReview,
} from "../auth/reviews.ts";
import type { TokenAuthenticator } from "../auth/tokens/contract.ts";
import type { VirtualResource } from "./virtual.ts";

export interface ReviewOptions {
  readonly authorizers: readonly Authorizer[];
  readonly tokenAuthenticators: readonly TokenAuthenticator[];
  readonly apiAudiences: readonly string[];
}

type Create = NonNullable<VirtualResource["create"]>;

const answered = (review: object): KubeObject => review as KubeObject;

export function reviewResources({
  authorizers,
  tokenAuthenticators,
  apiAudiences,
}: ReviewOptions): [string, VirtualResource][] {
  const access =
    (who: (scope: Parameters<Create>[1]) => { self?: Parameters<Create>[1]["user"]; namespace?: string }): Create =>
    async (object, scope) =>
      answered(
        await evaluateAccessReview(object as unknown as AccessReview, { authorizers, ...who(scope) }, scope.call),
      );
  const create: Record<string, Create> = {
    "authorization.k8s.io/subjectaccessreviews": access(() => ({})),
    "authorization.k8s.io/localsubjectaccessreviews": access(({ namespace }) => ({ namespace })),
    "authorization.k8s.io/selfsubjectaccessreviews": access(({ user }) => ({ self: user })),
    "authorization.k8s.io/selfsubjectrulesreviews": async (object, { user }) =>
      answered(evaluateRulesReview(object as unknown as RulesReview, { authorizers, self: user })),
    "authentication.k8s.io/selfsubjectreviews": async (object, { user }) => answered(evaluateSelfReview(object, user)),
    "authentication.k8s.io/tokenreviews": async (object, { call }) =>
      answered(
        await evaluateTokenReview(
          object as unknown as TokenReview,
          { authenticators: tokenAuthenticators, apiAudiences },
          call,
        ),
      ),
  };
  return Object.entries(create).map(([id, handle]) => [id, { create: handle }]);
}
