// The id of a request in its answer: the auditor's where requests are recorded, else the one that the client sent or one made here.

import { randomUUID } from "node:crypto";
import type { Answer } from "../machinery/answer.ts";
import type { ApiRequest } from "../machinery/request.ts";

export function withAuditId(request: ApiRequest, answer: Answer): Answer {
  const sent = request.headers.get("audit-id");
  answer.headers["audit-id"] ??= sent && /^[\w-]{1,64}$/.test(sent) ? sent : randomUUID();
  return answer;
}
