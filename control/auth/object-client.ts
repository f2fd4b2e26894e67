// The few calls of an API client that this room makes, so that tests need no server.

import type { Call } from "../../plugins/kit/base/call.ts";

interface ResourceRefLike {
  group: string;
  version: string;
  plural: string;
  kind: string;
  namespaced: boolean;
}

/** A missing object is a Fault `not-found`, a lost race `conflict`, an existing one `already-exists`. */
export interface ObjectClient {
  get<T>(ref: ResourceRefLike, at: { namespace?: string; name: string }, call: Call): Promise<T>;
  create<T>(ref: ResourceRefLike, object: object, call: Call): Promise<T>;
  update<T>(ref: ResourceRefLike, object: object, call: Call): Promise<T>;
  delete(ref: ResourceRefLike, at: { namespace?: string; name: string }, call: Call): Promise<unknown>;
}
