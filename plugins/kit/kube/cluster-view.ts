// Live views of the cluster's objects that plugins and authorizers decide by. A view may lag behind a write;
// `read` does not. In the API server these are fed by the watch cache in process.

import type { UserInfo } from "./user-info.ts";
import type { Call } from "../base/call.ts";
import type { Informer } from "./informer.ts";
import type { KubeObject } from "./objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";

export interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

/** What an access check is asked about, for plugins that must know whether the requester may do something else. */
export interface AccessQuestion {
  readonly user: UserInfo;
  readonly verb: string;
  readonly resource?: {
    readonly group: string;
    readonly version: string;
    readonly plural: string;
    readonly subresource: string;
    readonly namespace: string;
    readonly name: string;
  };
  readonly path?: string;
}

export interface ClusterView {
  informer<T extends object = KubeObject>(of: GroupResource): Informer<T>;
  /** What is stored now, read past the view; undefined when there is nothing. */
  read<T extends object = KubeObject>(
    of: GroupResource,
    at: { namespace: string; name: string },
    call: Call,
  ): Promise<T | undefined>;
  /** Stores the object's status if it is still at its resourceVersion; undefined when somebody was faster. */
  updateStatus<T extends object = KubeObject>(of: GroupResource, object: T, call: Call): Promise<T | undefined>;
  /** Whether the authorizers allow it. */
  mayDo(question: AccessQuestion, call: Call): Promise<boolean>;
}

/** The host of admission plugins opens exactly one of these before them. */
export const clusterViewKind: Kind<ClusterView> = kind("cluster-view");
