// Fills secrets of type kubernetes.io/service-account-token with a token of their account, the cluster's CA and the
// namespace, and takes them away with the account. Pods do without them; old tools ask for them.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Secret, ServiceAccount } from "../../../plugins/kit/kube/objects/types.ts";
import type { SigningKey } from "../../auth/tokens/jwt.ts";
import { issueLegacyToken } from "../../auth/tokens/service-account-issue.ts";
import type { ControllerFactory } from "../../manager/contract.ts";

const type = "kubernetes.io/service-account-token";
const nameAnnotation = "kubernetes.io/service-account.name";
const uidAnnotation = "kubernetes.io/service-account.uid";
const base64 = (text: string) => Buffer.from(text).toString("base64");

export function serviceAccountTokenController(key: SigningKey, caCertificate: string): ControllerFactory {
  return ({ client, informers }) => {
    const secrets = informers.for<Secret>(resources.secrets);
    const accounts = informers.for<ServiceAccount>(resources.serviceaccounts);
    const keyOf = ({ metadata }: Secret) => `${metadata.namespace}/${metadata.name}`;
    const tokensOf = ({ metadata }: ServiceAccount) =>
      secrets
        .list(metadata.namespace ?? "")
        .filter((each) => each.type === type && each.metadata.annotations?.[nameAnnotation] === metadata.name);
    return {
      name: "service-account-tokens",
      wakes: [
        { resource: resources.secrets, keys: (secret: Secret) => (secret.type === type ? [keyOf(secret)] : []) },
        { resource: resources.serviceaccounts, keys: (account: ServiceAccount) => tokensOf(account).map(keyOf) },
      ],
      async reconcile(at, call) {
        const [namespace = "", name = ""] = at.split("/");
        const secret = secrets.get(namespace, name);
        const accountName = secret?.metadata.annotations?.[nameAnnotation] ?? "";
        if (!secret || secret.type !== type || secret.metadata.deletionTimestamp) return undefined;
        const account = accounts.get(namespace, accountName);
        const uid = account?.metadata.uid ?? "";
        const bound = secret.metadata.annotations?.[uidAnnotation] ?? "";
        try {
          if (!account || (bound !== "" && bound !== uid)) {
            await client.delete(resources.secrets, { namespace, name }, call);
            return undefined;
          }
          const data = {
            ...secret.data,
            "ca.crt": base64(caCertificate),
            namespace: base64(namespace),
            token: secret.data?.token || base64(issueLegacyToken({ namespace, name: accountName, uid }, name, key)),
          };
          const isFilled =
            bound === uid && Object.entries(data).every(([field, value]) => secret.data?.[field] === value);
          if (isFilled) return undefined;
          const annotations = { ...secret.metadata.annotations, [uidAnnotation]: uid };
          await client.update(
            resources.secrets,
            { ...secret, metadata: { ...secret.metadata, annotations }, data },
            call,
          );
        } catch (error) {
          // Changed or gone meanwhile: that wakes us again.
          if (!isFault(error, "conflict", "not-found")) throw error;
        }
        return undefined;
      },
    };
  };
}
