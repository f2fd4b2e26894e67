// Passes a request on to the server that an APIService names, in the name of who asked, and its answer back.

import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { toFault } from "../../../plugins/kit/base/fault.ts";
import type { Upgrade } from "../../../plugins/kit/os/platform/http-server.ts";
import { targetOf } from "../../../plugins/kit/os/platform/served-url.ts";
import { type Answer, textAnswer } from "../../machinery/answer.ts";
import { isPassed, upgradeHeaders } from "../connect/pass-headers.ts";
import { joinUpgrade } from "../connect/join-upgrade.ts";
import { hasDotSegment } from "../path.ts";
import type { ApiRequest } from "../../machinery/request.ts";
import { unknownPath } from "../../machinery/status.ts";
import { type Remote, userHeaders } from "./remote.ts";

const noService = () => textAnswer("service unavailable\n", 503);

export async function passToRemote(remote: Remote, request: ApiRequest, user: UserInfo, call: Call): Promise<Answer> {
  requirePassable(request.path);
  if (!remote.isAvailable) return noService();
  const { method } = request;
  const headers = new Headers();
  for (const [name, value] of request.headers) if (isPassed(name)) headers.append(name, value);
  const { address } = request.peer;
  if (address) headers.append("x-forwarded-for", address);
  const body = method === "GET" || method === "HEAD" ? undefined : await request.body();
  const identity = userHeaders(user);
  try {
    const { origin, fetch } = remote.reach();
    const response = await fetch(
      new Request(`${origin}${request.path}${searchOf(request)}`, {
        method,
        headers,
        signal: call.signal,
        redirect: "manual",
        ...(body && body.length > 0 ? { body: body as BodyInit } : {}),
      }),
      identity,
    );
    return await answerOf(response);
  } catch (error) {
    if (call.signal.aborted) throw error;
    const why = toFault(error, "the request", "unavailable").message;
    return textAnswer(`error trying to reach service: ${why}\n`, 503);
  }
}

/** The client would collapse dot segments: the server would see another path than the one that was authorized. */
function requirePassable(path: string): void {
  if (hasDotSegment(path)) throw unknownPath();
}

async function answerOf(response: Response): Promise<Answer> {
  if (response.status >= 300 && response.status < 400 && response.status !== 304) {
    await response.body?.cancel();
    return textAnswer("the backend attempted to redirect this request, which is not permitted\n", 502);
  }
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) if (isPassed(name)) headers[name] = value;
  return { status: response.status, headers, body: response.body ?? undefined };
}

/** Joins the client's raw connection with one to the server; answers on the socket also to refuse. */
export async function passUpgrade(remote: Remote, upgrade: Upgrade, user: UserInfo, call: Call): Promise<void> {
  const target = targetOf(upgrade.request);
  requirePassable(target.split("?", 1)[0] ?? "");
  const { origin, fetch } = remote.reach();
  const headers = upgradeHeaders(upgrade.request, upgrade.peer.address);
  const url = `${origin}${target}`;
  await joinUpgrade(
    fetch,
    { url, method: upgrade.request.method ?? "GET", headers, lines: userHeaders(user) },
    upgrade,
    call,
  );
}

function searchOf({ query }: ApiRequest): string {
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
