// How CRI shows an image, and how one is found by any of its names.

import type { Image } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import type { Engine } from "../engine/engine.ts";
import type { ImageInspect } from "../engine/types.ts";

export async function findImage(engine: Engine, name: string, call: Call): Promise<ImageInspect | undefined> {
  if (name === "") return undefined;
  try {
    return await engine.get<ImageInspect>(`/images/${encodeName(name)}/json`, {}, call);
  } catch (error) {
    // A name that cannot be one is of no image either.
    if (isFault(error, "not-found", "invalid")) return undefined;
    throw error;
  }
}

export async function requireImage(engine: Engine, name: string, doing: string, call: Call): Promise<ImageInspect> {
  if (name === "") throw new Fault("invalid", `Cannot ${doing}: no image is named`);
  const found = await findImage(engine, name, call);
  if (!found) throw new Fault("not-found", `Cannot ${doing}: image "${name}" is not present`);
  return found;
}

/** Slashes and colons are part of the path; anything odd is escaped. */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%40/g, "@");
}

/** The daemon shortens names of Docker Hub; everyone else in Kubernetes writes them out. */
export function fullName(name: string): string {
  const [first = "", ...rest] = name.split("/");
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  if (hasHost) return name;
  return `docker.io/${rest.length === 0 ? "library/" : ""}${name}`;
}

export function toImage(image: ImageInspect, isPinned: boolean): Image {
  const user = (image.Config?.User ?? "").split(":")[0] as string;
  const isNumber = /^\d+$/.test(user);
  const repoTags = (image.RepoTags ?? []).filter((tag) => tag !== "<none>:<none>").map(fullName);
  return {
    id: image.Id,
    repoTags,
    repoDigests: (image.RepoDigests ?? []).filter((digest) => !digest.startsWith("<none>")).map(fullName),
    size: BigInt(Math.max(1, image.Size)),
    uid: isNumber ? { value: BigInt(user) } : user === "" ? { value: 0n } : undefined,
    username: isNumber ? "" : user,
    spec: {
      image: repoTags[0] ?? image.Id,
      annotations: {},
      userSpecifiedImage: "",
      runtimeHandler: "",
      imageRef: image.Id,
    },
    pinned: isPinned,
  };
}
