// The AdmissionPlugin contract: a step that may change or refuse a write before it is stored.

import type { Call } from "../base/call.ts";
import type { Fault } from "../base/fault.ts";
import type { KubeObject } from "../kube/objects/types.ts";
import { type Kind, kind } from "../base/plugin.ts";
import type { UserInfo } from "../kube/user-info.ts";
import { statusFault } from "../kube/status-fault.ts";

export type AdmissionOperation = "CREATE" | "UPDATE" | "DELETE" | "CONNECT";

/** The same objects as another group or version serves them. */
export interface EquivalentResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  /** A copy of an object of the request in this version, and back again. */
  to(object: KubeObject, call: Call): Promise<KubeObject>;
  from(object: KubeObject, call: Call): Promise<KubeObject>;
}

/** Which resource a client asked for. */
type AskedResource = Pick<EquivalentResource, "group" | "version" | "resource" | "kind">;

export interface AdmissionRequest {
  readonly operation: AdmissionOperation;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly kind: string;
  readonly namespace: string;
  /** Empty while a name is still to be generated. */
  readonly name: string;
  readonly user: UserInfo;
  readonly dryRun: boolean;
  /** What will be stored; absent on DELETE. A mutating step changes it in place. */
  readonly object?: KubeObject;
  /** What is stored now; absent on CREATE. Never changed. */
  readonly oldObject?: KubeObject;
  /** Other groups and versions that serve the same objects, the preferred ones first; absent where there are none. */
  readonly equivalents?: readonly EquivalentResource[];
  /** What the client asked for, where this is the request as an equivalent resource sees it. */
  readonly asked?: AskedResource;
  /** Create, update, patch or delete options, for webhooks. */
  readonly options?: KubeObject;
  /** Adds a `Warning` header to the answer. */
  warn(text: string): void;
  /** So long was spent waiting for somebody outside, which is not the server's own slowness. */
  waited?(ms: number): void;
  /** Adds an annotation to the audit event of the request; absent where nothing is audited. */
  annotate?(key: string, value: string): void;
}

export interface AdmissionPlugin {
  readonly name: string;
  handles(request: AdmissionRequest): boolean;
  /** Throws a Fault (usually `forbidden` or `invalid`) to refuse. */
  mutate?(request: AdmissionRequest, call: Call): void | Promise<void>;
  validate?(request: AdmissionRequest, call: Call): void | Promise<void>;
  /**
   * Set by steps that hand the object to strangers: when their `mutate` changed it, all other steps mutate once more,
   * and then this is called with the same request.
   */
  reinvoke?(request: AdmissionRequest, call: Call): void | Promise<void>;
}

/** What a refusal must know of the request. */
export type Refused = Pick<AdmissionRequest, "group" | "resource" | "name" | "object">;

/** What a refusal calls the object: its name, or what its name will begin with. */
export function nameIn(request: Refused): string {
  return request.name || request.object?.metadata.name || request.object?.metadata.generateName || "";
}

/** The refusal of a write, in upstream's words: `pods "web" is forbidden: <why>`. Throw what it returns. */
export function refuse(request: Refused, why: string, causes?: { reason?: string; message?: string }[]): Fault {
  const qualified = request.group === "" ? request.resource : `${request.resource}.${request.group}`;
  const name = nameIn(request);
  return statusFault("forbidden", `${qualified} ${JSON.stringify(name)} is forbidden: ${why}`, {
    code: 403,
    reason: "Forbidden",
    details: {
      ...(name === "" ? {} : { name }),
      ...(request.group === "" ? {} : { group: request.group }),
      kind: request.resource,
      ...(causes ? { causes } : {}),
    },
  });
}

export const admissionKind: Kind<AdmissionPlugin> = kind("admission");
