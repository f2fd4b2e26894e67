// What a request does, and to what: what authorizers decide by.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";

export interface Attributes {
  readonly user: UserInfo;
  /** get, list, watch, create, update, patch, delete, deletecollection, impersonate, bind, escalate …; lower-case HTTP method for paths. */
  readonly verb: string;
  /** Set for requests on resources. */
  readonly resource?: {
    readonly group: string;
    readonly version: string;
    readonly plural: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
    readonly fieldSelector?: string;
    readonly labelSelector?: string;
  };
  /** Set for all others: the URL path. */
  readonly path?: string;
}
