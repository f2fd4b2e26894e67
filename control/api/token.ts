// serviceaccounts/token: a TokenRequest, answered by the issuer that the server was given.

import type { ServiceAccount } from "../../plugins/kit/kube/objects/types.ts";
import { mutate, validate } from "./admit.ts";
import { jsonAnswer } from "../machinery/answer.ts";
import { asObject, decodeBody } from "./body.ts";
import { claimKind, claimNamespace } from "./lifecycle.ts";
import type { SubresourceHandler } from "./subresources.ts";
import { requireSameName } from "./verbs/create.ts";
import type { TokenIssuer } from "../auth/tokens/contract.ts";
import { findEntry } from "./verbs/get.ts";

const tokenKind = { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };

export function tokenSubresource(issue: TokenIssuer): SubresourceHandler {
  return {
    verbs: ["create"],
    shows: tokenKind,
    async answer(_verb, _path, scope) {
      const body = decodeBody(await scope.request.body(), scope.request.headers.get("content-type"), "TokenRequest");
      const request = asObject(body.value);
      claimKind(request, tokenKind);
      claimNamespace(request, scope);
      requireSameName(scope, request);
      const account = (await findEntry(scope)).object as unknown as ServiceAccount;
      request.metadata = { ...request.metadata, name: scope.name, namespace: scope.namespace };
      const admitted = { operation: "CREATE" as const, object: request, kind: tokenKind.kind };
      await mutate(scope, admitted);
      await validate(scope, admitted);
      return jsonAnswer(await issue(account, request, scope.call), 201);
    },
  };
}
