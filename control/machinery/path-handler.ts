// Paths that are not resources.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Answer } from "./answer.ts";
import type { ApiRequest } from "./request.ts";

/** Answers requests on paths that are not resources: discovery, health, schemas. Undefined when it is not one of them. */
export type PathHandler = (request: ApiRequest, user: UserInfo) => Answer | Promise<Answer> | undefined;
