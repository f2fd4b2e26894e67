// PullImage, with the credentials that CRI hands over.

import type { PullBoard, PullMeter } from "../../api/pull-board.ts";
import type { AuthConfig, PullImageRequest } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault, type FaultCode } from "../../../plugins/kit/base/fault.ts";
import type { Engine } from "../engine/engine.ts";
import { requireImage } from "./image-view.ts";

interface PullStep {
  readonly error?: string;
  readonly errorDetail?: { readonly message?: string };
  /** Of a layer, in the daemon's words. */
  readonly id?: string;
  readonly status?: string;
  readonly progressDetail?: { readonly current?: number; readonly total?: number };
}

/** A layer's archive is here once it is said to be, checked, unpacked or done. */
const fetched: ReadonlySet<string> = new Set([
  "Verifying Checksum",
  "Download complete",
  "Extracting",
  "Pull complete",
]);

export async function pullImage(
  engine: Engine,
  request: PullImageRequest,
  board: PullBoard,
  call: Call,
): Promise<string> {
  const name = request.image?.image ?? "";
  if (name === "") throw new Fault("invalid", "Cannot pull image: no image is named");
  const { repository, tag } = splitName(name);
  const auth = registryAuth(request.auth);
  const options = { query: { fromImage: repository, tag }, ...(auth ? { headers: { "x-registry-auth": auth } } : {}) };
  const meter = board.begin(name);
  try {
    for await (const step of engine.values<PullStep>("POST", "/images/create", options, call)) {
      const { error, errorDetail } = step;
      if (error !== undefined) throw new Fault(codeOf(error), errorDetail?.message ?? error);
      tell(meter, step);
    }
  } catch (cause) {
    call.signal.throwIfAborted();
    const { code, message } = cause as Fault;
    throw new Fault(code ?? "unavailable", `Cannot pull image "${name}": ${message}`, { cause });
  } finally {
    meter.end();
  }
  return (await requireImage(engine, name, "pull image", call)).Id;
}

/** What the daemon says of a layer, on the board. How large one is, it says when its download begins. */
export function tell(meter: PullMeter, { id = "", status = "", progressDetail }: PullStep): void {
  const { current = 0, total = 0 } = progressDetail ?? {};
  if (fetched.has(status)) meter.finish(id);
  if (status !== "Downloading" || total <= 0) return;
  meter.expect(id, total);
  meter.reach(id, current);
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
