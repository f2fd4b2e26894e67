// Passes a request on to the server that an APIService names, in the name of who asked, and its answer back.

import type { UserInfo } from "../../../plugins/kit/admission.ts";
import type { Call } from "../../../plugins/kit/call.ts";
import { toFault } from "../../../plugins/kit/fault.ts";
import type { Upgrade } from "../../../plugins/kit/platform/http-server.ts";
import { type Answer, textAnswer } from "../answer.ts";
import { isPassed, upgradeHeaders } from "../connect/pass-headers.ts";
import { joinUpgrade } from "../connect/join-upgrade.ts";
import type { ApiRequest } from "../request.ts";
import { type Remote, userHeaders } from "./remote.ts";

const noService = () => textAnswer("service unavailable\n", 503);

export async function passToRemote(remote: Remote, request: ApiRequest, user: UserInfo, call: Call): Promise<Answer> {
  if (!remote.isAvailable) return noService();
  const { method } = request;
  const headers = new Headers();
  for (const [name, value] of request.headers) if (isPassed(name)) headers.append(name, value);
  for (const [name, values] of Object.entries(userHeaders(user))) headers.set(name, values.join(", "));
  const { address } = request.peer;
  if (address) headers.append("x-forwarded-for", address);
  const body = method === "GET" || method === "HEAD" ? undefined : await request.body();
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
    );
    return await answerOf(response);
  } catch (error) {
    if (call.signal.aborted) throw error;
    const why = toFault(error, "the request", "unavailable").message;
    return textAnswer(`error trying to reach service: ${why}\n`, 503);
  }
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
  const { origin, fetch } = remote.reach();
  const headers = { ...upgradeHeaders(upgrade.request, upgrade.peer.address), ...userHeaders(user) };
  const url = `${origin}${upgrade.request.url ?? "/"}`;
  await joinUpgrade(fetch, { url, method: upgrade.request.method ?? "GET", headers }, upgrade, call);
}

function searchOf({ query }: ApiRequest): string {
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}
