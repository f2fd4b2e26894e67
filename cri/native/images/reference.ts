// Image references: what a person writes, and the registry, repository, tag and digest that it means.

import { Fault } from "../../../plugins/kit/base/fault.ts";

export interface ImageReference {
  /** Registry host with port, such as `docker.io`. */
  readonly registry: string;
  readonly repository: string;
  readonly tag?: string;
  /** `sha256:…`; decides where both tag and digest are given. */
  readonly digest?: string;
}

const defaultRegistry = "docker.io";
const repositoryPattern = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const tagPattern = /^[\w][\w.-]{0,127}$/;
const hostPattern =
  /^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(?::\d{1,5})?$/;
const digestPattern = /^sha256:[0-9a-f]{64}$/;

export function isDigest(text: string): boolean {
  return digestPattern.test(text);
}

export function parseReference(text: string): ImageReference {
  const wrong = (why: string) => new Fault("invalid", `Cannot parse image reference "${text}": ${why}`);
  if (text === "") throw wrong("it is empty");
  if (text.length > 4096) throw wrong("it is too long");
  const at = text.indexOf("@");
  const digest = at < 0 ? undefined : text.slice(at + 1);
  if (digest !== undefined && !isDigest(digest)) throw wrong(`"${digest}" is not a sha256 digest`);
  let name = at < 0 ? text : text.slice(0, at);
  let tag: string | undefined;
  const colon = name.lastIndexOf(":");
  if (colon > name.lastIndexOf("/")) {
    tag = name.slice(colon + 1);
    name = name.slice(0, colon);
    if (!tagPattern.test(tag)) throw wrong(`"${tag}" is not a tag`);
  }
  const slash = name.indexOf("/");
  const first = slash < 0 ? "" : name.slice(0, slash);
  const isHost = first === "localhost" || /[.:[]/.test(first) || first !== first.toLowerCase();
  let registry = isHost ? first : defaultRegistry;
  let repository = isHost ? name.slice(slash + 1) : name;
  if (registry === "index.docker.io") registry = defaultRegistry;
  if (registry === defaultRegistry && !repository.includes("/")) repository = `library/${repository}`;
  if (!hostPattern.test(registry)) throw wrong(`"${registry}" is not a registry host`);
  if (!repositoryPattern.test(repository)) throw wrong(`"${repository}" is not a repository name (lower case only)`);
  if (tag === undefined && digest === undefined) tag = "latest";
  return { registry, repository, ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) };
}

/** `registry/repository`, without tag or digest. */
export function repositoryName(reference: ImageReference): string {
  return `${reference.registry}/${reference.repository}`;
}

/** The full form, as image lists show it. */
export function formatReference(reference: ImageReference): string {
  const tag = reference.tag === undefined ? "" : `:${reference.tag}`;
  const digest = reference.digest === undefined ? "" : `@${reference.digest}`;
  return `${repositoryName(reference)}${tag}${digest}`;
}
