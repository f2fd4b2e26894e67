// Further ways to know and to allow users, as plugins: each is opened only when its settings are there.

import { readFileSync } from "node:fs";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import {
  checkSettings,
  listOf,
  mapOf,
  optional,
  string,
  withDefault,
  integer,
} from "../../plugins/kit/base/config-check.ts";
import { toFault } from "../../plugins/kit/base/fault.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import type { AnyPlugin, Plugin } from "../../plugins/kit/base/plugin.ts";
import { abacAuthorizer } from "./abac.ts";
import { type Authorizer, authorizerKind } from "./contract.ts";
import { type TokenAuthenticator, tokenAuthenticatorKind } from "./tokens/contract.ts";
import { oidcAuthenticator } from "./tokens/oidc.ts";
import { tokenFileAuthenticator } from "./tokens/token-file.ts";
import { webhookAuthorizer } from "./webhook-authorizer.ts";

interface FileSettings {
  readonly path: string;
}

const readFile = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw toFault(error, `Cannot read ${path}`, "invalid");
  }
};

const fileSettings = (raw: unknown): FileSettings => checkSettings(raw, { path: string });

/** `{ path }`: lines of `token,user,uid,"groups"`. */
const tokenFile: Plugin<TokenAuthenticator, FileSettings> = {
  kind: tokenAuthenticatorKind,
  name: "TokenFile",
  keys: { path: "as --token-auth-file" },
  configure: fileSettings,
  open: ({ settings }) => tokenFileAuthenticator(readFile(settings.path), settings.path),
};

const oidcSettings = (raw: unknown) =>
  checkSettings(raw, {
    issuerUrl: string,
    clientId: string,
    usernameClaim: withDefault(string, "sub"),
    usernamePrefix: optional(string),
    groupsClaim: optional(string),
    groupsPrefix: withDefault(string, ""),
    requiredClaims: withDefault(mapOf(string), {}),
    signingAlgorithms: withDefault(listOf(string), ["RS256"]),
    caFile: optional(string),
  });

const oidc: Plugin<TokenAuthenticator, ReturnType<typeof oidcSettings>> = {
  kind: tokenAuthenticatorKind,
  name: "OIDC",
  keys: {
    issuerUrl: "as --oidc-issuer-url",
    clientId: "as --oidc-client-id",
    usernameClaim: "as --oidc-username-claim",
    usernamePrefix: "as --oidc-username-prefix",
    groupsClaim: "as --oidc-groups-claim",
    groupsPrefix: "as --oidc-groups-prefix",
    requiredClaims: "claims that ID tokens must have with these values",
    signingAlgorithms: "how ID tokens may be signed (default: RS256)",
    caFile: "as --oidc-ca-file",
  },
  configure: oidcSettings,
  open({ settings, onClose }) {
    const { usernamePrefix, groupsClaim, caFile, ...rest } = settings;
    const fetch = httpFetch({ ca: caFile === undefined ? undefined : readFile(caFile) });
    onClose(() => fetch.close());
    return oidcAuthenticator({
      ...rest,
      ...(usernamePrefix === undefined ? {} : { usernamePrefix }),
      ...(groupsClaim === undefined ? {} : { groupsClaim }),
      fetch,
    });
  },
};

/** `{ path }`: one JSON policy a line. */
const abac: Plugin<Authorizer, FileSettings> = {
  kind: authorizerKind,
  name: "ABAC",
  keys: { path: "as --authorization-policy-file" },
  configure: fileSettings,
  open: ({ settings }) => abacAuthorizer(readFile(settings.path), settings.path),
};

const webhookSettings = (raw: unknown) =>
  checkSettings(raw, {
    kubeconfig: string,
    allowedTtlSeconds: withDefault(integer({ min: 0 }), 300),
    refusedTtlSeconds: withDefault(integer({ min: 0 }), 30),
  });

const webhook: Plugin<Authorizer, ReturnType<typeof webhookSettings>> = {
  kind: authorizerKind,
  name: "AuthorizationWebhook",
  keys: {
    kubeconfig: "as --authorization-webhook-config-file",
    allowedTtlSeconds: "how long a yes is remembered (default: 300; 0: not at all)",
    refusedTtlSeconds: "how long a no is remembered (default: 30; 0: not at all)",
  },
  configure: webhookSettings,
  async open({ settings, clock, log, onClose }) {
    const { server, fetch, close } = await loadKubeconfig(settings.kubeconfig, { clock });
    onClose(close);
    return webhookAuthorizer({
      url: server,
      fetch,
      clock,
      log,
      allowedTtlMs: settings.allowedTtlSeconds * 1000,
      refusedTtlMs: settings.refusedTtlSeconds * 1000,
    });
  },
};

export const allAccessPlugins = [tokenFile, oidc, abac, webhook] as readonly AnyPlugin[];

/** Those that the settings name. */
export function accessPlugins(settings: Readonly<Record<string, unknown>>): readonly AnyPlugin[] {
  return allAccessPlugins.filter(
    ({ kind, name }) => Object.hasOwn(settings, name) || Object.hasOwn(settings, `${kind.name}/${name}`),
  );
}
