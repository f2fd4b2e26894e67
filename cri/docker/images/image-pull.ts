// PullImage, with the credentials that CRI hands over.

import type { AuthConfig, PullImageRequest } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/call.ts";
import { Fault, type FaultCode } from "../../../plugins/kit/fault.ts";
import type { Engine } from "../engine/engine.ts";
import { requireImage } from "./image-view.ts";

interface PullProgress {
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
}

export async function pullImage(engine: Engine, request: PullImageRequest, call: Call): Promise<string> {
  const name = request.image?.image ?? "";
  if (name === "") throw new Fault("invalid", "Cannot pull image: no image is named");
  const { repository, tag } = splitName(name);
  const auth = registryAuth(request.auth);
  const options = { query: { fromImage: repository, tag }, ...(auth ? { headers: { "x-registry-auth": auth } } : {}) };
  try {
    for await (const { error, errorDetail } of engine.values<PullProgress>("POST", "/images/create", options, call)) {
      if (error !== undefined) throw new Fault(codeOf(error), errorDetail?.message ?? error);
    }
  } catch (cause) {
    call.signal.throwIfAborted();
    const { code, message } = cause as Fault;
    throw new Fault(code ?? "unavailable", `Cannot pull image "${name}": ${message}`, { cause });
  }
  return (await requireImage(engine, name, "pull image", call)).Id;
}

/** Without a tag the daemon would pull them all. A digest takes the tag's place. */
export function splitName(name: string): { repository: string; tag: string } {
  const [before = "", digest] = name.split("@");
  const colon = before.lastIndexOf(":");
  const hasTag = colon > before.lastIndexOf("/");
  const repository = hasTag ? before.slice(0, colon) : before;
  return { repository, tag: digest ?? (hasTag ? before.slice(colon + 1) : "latest") };
}

function codeOf(message: string): FaultCode {
  if (/unauthorized|authentication required|denied/i.test(message)) return "forbidden";
  if (/not found|manifest unknown/i.test(message)) return "not-found";
  return "unavailable";
}

/** The header's value, or undefined where there is nothing to tell. */
export function registryAuth(auth: AuthConfig | undefined): string | undefined {
  if (!auth) return undefined;
  const [user = "", ...words] = Buffer.from(auth.auth, "base64").toString("utf8").split(":");
  const username = auth.username || user;
  const password = auth.password || words.join(":");
  const { serverAddress: serveraddress, identityToken: identitytoken, registryToken: registrytoken } = auth;
  if (!username && !identitytoken && !registrytoken) return undefined;
  const fields = { username, password, serveraddress, identitytoken, registrytoken };
  // The daemon wants the alphabet of URLs with padding, and takes anything else for no credentials at all.
  return Buffer.from(JSON.stringify(fields)).toString("base64").replaceAll("+", "-").replaceAll("/", "_");
}
