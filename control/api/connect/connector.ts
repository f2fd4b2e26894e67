// NodeConnector is how the API reaches nodes, pods and services for logs, exec, port-forward and proxies. It is injected:
// what stands behind it (certificates, in-process shortcuts) is not this room's matter.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Node } from "../../../plugins/kit/kube/objects/types.ts";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";

/** Whom to talk to: a node's kubelet, or an address in the cluster's network. */
export type ConnectTarget =
  | { readonly kind: "node"; readonly node: Node; readonly path: string }
  | { readonly kind: "address"; readonly url: string };

interface ConnectRequest {
  readonly method: string;
  readonly headers: Headers;
  readonly body?: ReadableStream<Uint8Array> | Uint8Array | null;
}

export interface NodeConnector {
  /** Path and query are those of the kubelet's API, or of the URL. The answer is passed on as it is. */
  fetch(target: ConnectTarget, request: ConnectRequest, call: Call): Promise<Response>;
  /** Joins the client's raw connection with one to the target; answers on the socket also to refuse. */
  upgrade(target: ConnectTarget, upgrade: Upgrade, call: Call): void;
}
