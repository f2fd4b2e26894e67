// Other sites' pages: a browser that holds a certificate of the cluster sends it along with whatever any page makes it ask for. Such requests
// carry the page's origin, which scripts cannot change.

import { Fault } from "../../../plugins/kit/base/fault.ts";

/**
 * Fault `forbidden` for a request that a page of another host makes. What a proxy passes on is the proxy's to judge: it says for whom it
 * asks, and a page cannot say that without having been allowed to.
 */
export function refuseForeignPages(headers: Headers, host: string): void {
  const origin = headers.get("origin");
  if (origin === null || headers.has("x-forwarded-for")) return;
  if (URL.canParse(origin) && new URL(origin).host === host) return;
  throw new Fault("forbidden", `a page of ${JSON.stringify(origin.slice(0, 100))} may not ask here`);
}
