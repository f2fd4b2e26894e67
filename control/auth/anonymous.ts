// Lets requests without any credentials through as nobody, on the few paths that must answer before anyone has an identity.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Authenticator } from "./contract.ts";

export const anonymousUser: UserInfo = { name: "system:anonymous", groups: ["system:unauthenticated"] };

const openPaths = /^\/(healthz|livez|readyz|version)(\/|$)/;
/** What a box that wants to join reads first; what it may do there is still the authorizers' to say. */
const clusterInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

/** Last in the list: a wrong credential must have been refused before. */
export const anonymousAuthenticator: Authenticator = {
  name: "anonymous",
  async authenticate({ headers, path }) {
    if (headers.has("authorization") || path === undefined) return undefined;
    return openPaths.test(path) || path === clusterInfo ? anonymousUser : undefined;
  },
};
