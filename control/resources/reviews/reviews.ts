// Questions that are posted and answered, never stored: who am I, may I, is this token good.

import type { ResourceDefinition } from "../definition.ts";

function review(group: string, plural: string, kind: string, namespaced = false): ResourceDefinition {
  return { group, version: "v1", plural, singular: kind.toLowerCase(), kind, namespaced, verbs: ["create"] };
}

const authentication = "authentication.k8s.io";
const authorization = "authorization.k8s.io";

export const reviews: readonly ResourceDefinition[] = [
  review(authentication, "selfsubjectreviews", "SelfSubjectReview"),
  review(authentication, "tokenreviews", "TokenReview"),
  review(authorization, "localsubjectaccessreviews", "LocalSubjectAccessReview", true),
  review(authorization, "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
  review(authorization, "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
  review(authorization, "subjectaccessreviews", "SubjectAccessReview"),
];
