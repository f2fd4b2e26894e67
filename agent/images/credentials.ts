// Registry credentials: read from pull secrets, matched to an image, the most specific first.

import type { Secret } from "../../plugins/kit/kube/objects/types.ts";
import type { ImageReference } from "../model/image-reference.ts";

export interface Credential {
  readonly username: string;
  readonly password: string;
  readonly identityToken?: string;
  readonly registryToken?: string;
}

interface Entry {
  readonly pattern: string;
  readonly credential: Credential;
}

type DockerAuths = Record<
  string,
  { username?: string; password?: string; auth?: string; identitytoken?: string; registrytoken?: string }
>;

/** What a pull secret holds; anything malformed counts as nothing. */
export function credentialsOf(secret: Secret): Entry[] {
  const modern = secret.data?.[".dockerconfigjson"];
  const old = secret.data?.[".dockercfg"];
  const auths = modern
    ? (parse(modern) as { auths?: DockerAuths } | undefined)?.auths
    : old
      ? (parse(old) as DockerAuths | undefined)
      : undefined;
  return entriesOf(auths ?? {});
}

export function entriesOf(auths: DockerAuths): Entry[] {
  return Object.entries(auths).map(([pattern, auth]) => {
    const [user, ...rest] = auth.auth ? Buffer.from(auth.auth, "base64").toString("utf8").split(":") : [];
    return {
      pattern,
      credential: {
        username: auth.username ?? user ?? "",
        password: auth.password ?? rest.join(":"),
        ...(auth.identitytoken ? { identityToken: auth.identitytoken } : {}),
        ...(auth.registrytoken ? { registryToken: auth.registrytoken } : {}),
      },
    };
  });
}

function parse(base64: string): unknown {
  try {
    return JSON.parse(Buffer.from(base64, "base64").toString("utf8"));
  } catch {
    // A secret the user wrote wrongly helps nobody, and the pull's own error says enough.
    return undefined;
  }
}

/** The credentials that fit the image, longest pattern first. */
export function matching(entries: readonly Entry[], image: ImageReference): Credential[] {
  return entries
    .filter((entry) => fits(entry.pattern, image))
    .sort((a, b) => b.pattern.length - a.pattern.length)
    .map((entry) => entry.credential);
}

/** `registry[:port][/path]`, where `*` stands for one label of the host; a scheme and `/v1/`, `/v2/` ends are ignored. */
export function fits(pattern: string, image: ImageReference): boolean {
  const bare = pattern.replace(/^https?:\/\//, "").replace(/\/(v1|v2)?\/?$/, "");
  const slash = bare.indexOf("/");
  const host = slash < 0 ? bare : bare.slice(0, slash);
  const path = slash < 0 ? "" : bare.slice(slash + 1);
  const isDockerHub = (name: string) => name === "docker.io" || name === "index.docker.io";
  const hostFits = isDockerHub(host) ? isDockerHub(image.registry) : globFits(host, image.registry);
  return hostFits && (path === "" || image.path === path || image.path.startsWith(`${path}/`));
}

function globFits(pattern: string, host: string): boolean {
  const wanted = pattern.split(".");
  const parts = host.split(".");
  if (wanted.length !== parts.length) return false;
  return wanted.every((label, index) => {
    const expression = label
      .split("*")
      .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join(".*");
    return new RegExp(`^${expression}$`).test(parts[index] ?? "");
  });
}
