// Image names: whether one is well formed, what it means when parts are left out, and which registry it lies in.

import { Fault } from "../../plugins/kit/base/fault.ts";

const pathPart = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
const domain =
  "(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?";
const pattern = new RegExp(
  `^(?:(${domain})/)?(${pathPart}(?:/${pathPart})*)(?::([\\w][\\w.-]{0,127}))?(?:@([A-Za-z][A-Za-z0-9]*:[0-9a-fA-F]{32,}))?$`,
);

export interface ImageReference {
  /** The name with `:latest` added where neither tag nor digest was given. */
  readonly name: string;
  /** `docker.io` where none was given. */
  readonly registry: string;
  /** Path within the registry. */
  readonly path: string;
  readonly tag: string;
  readonly digest: string;
}

/** Fault `invalid` in upstream's words when the name is no image reference. */
export function parseImage(name: string): ImageReference {
  const match = pattern.exec(name);
  if (!match)
    throw new Fault(
      "invalid",
      `Failed to apply default image tag "${name}": couldn't parse image name "${name}": invalid reference format`,
    );
  const [, host = "", rest = "", tag = "", digest = ""] = match;
  // A first part without dot, colon or `localhost` is a folder of the default registry.
  const isRegistry = host.includes(".") || host.includes(":") || host === "localhost";
  const path = isRegistry || host === "" ? rest : `${host}/${rest}`;
  const registry = isRegistry ? host : "docker.io";
  return {
    name: tag || digest ? name : `${name}:latest`,
    registry,
    path: registry === "docker.io" && !path.includes("/") ? `library/${path}` : path,
    tag: tag || (digest ? "" : "latest"),
    digest,
  };
}

/** The names that runtimes may list an image by; what is no name is on no list. */
export function namesOf(image: string): string[] {
  try {
    const { name, registry, path, tag, digest } = parseImage(image);
    return [image, name, `${registry}/${path}${tag ? `:${tag}` : ""}${digest ? `@${digest}` : ""}`];
  } catch {
    return [image];
  }
}

/** What the API server would have defaulted the pull policy to. */
export function defaultPullPolicy(image: string): "Always" | "IfNotPresent" {
  try {
    return parseImage(image).tag === "latest" ? "Always" : "IfNotPresent";
  } catch {
    // A bad name is told when it is pulled; the policy does not matter then.
    return "IfNotPresent";
  }
}
