// Shows the cluster's CA to those who have no identity yet. Whoever joins checks it against the hash in their token.

import { caCertificatePath } from "../../../plugins/kit/kube/join-token.ts";
import type { Handler } from "../../../plugins/kit/os/platform/http-server.ts";

/** Answers the one public document itself and leaves everything else to the handler. */
export function withClusterCa(handler: Handler, caCertificate: string): Handler {
  return (request, peer) => {
    // On the path of every request: the cheap look first.
    const isAsked = request.url.endsWith(caCertificatePath) && new URL(request.url).pathname === caCertificatePath;
    if (!isAsked || request.method !== "GET") return handler(request, peer);
    return new Response(caCertificate, { headers: { "content-type": "application/x-pem-file" } });
  };
}
