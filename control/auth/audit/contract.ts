// What the API path tells the audit log about each request.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Answer } from "../../machinery/answer.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import type { Attributes } from "../../machinery/attributes.ts";

/** The record of one request, from its arrival to the end of its answer. Nothing here waits or throws. */
export interface AuditTrail {
  /**
   * Who asks for what; `real` is who stands behind an impersonated user. Decides how much is recorded, and gives the request to go
   * on with: its body is seen where the policy wants it.
   */
  identify(attributes: Attributes, real: UserInfo): ApiRequest;
  /** The same for a request whose credentials were refused: nobody is known to have asked. */
  unauthenticated(attributes: Omit<Attributes, "user">): void;
  annotate(key: string, value: string): void;
  /** The answer to go on with: streams are recorded when they begin and when they end. */
  complete(answer: Answer): Answer;
}

export interface Auditor {
  begin(request: ApiRequest): AuditTrail;
}
