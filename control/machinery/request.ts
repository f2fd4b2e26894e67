// ApiRequest is one request as the API path reads it, whatever carried it: a socket, or a call in the same process.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Peer } from "../../plugins/kit/os/platform/http-server.ts";

export interface ApiRequest extends Call {
  readonly method: string;
  /** Undecoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly peer: Peer;
  /** Set for callers in the same process, whose identity is given; they are not authenticated again. */
  readonly user?: UserInfo;
  /**
   * The whole body; Fault when it is larger than allowed or ends too early. May be called once. `look` sees the parts of a large one that
   * comes over a connection, as they come; what it throws refuses the body.
   */
  body(look?: (part: Uint8Array) => void): Promise<Uint8Array>;
  /** The same as it comes, of any length, for who passes it on; null where there is none. Instead of `body`. */
  stream(): ReadableStream<Uint8Array> | null;
}
