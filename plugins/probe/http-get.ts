// httpGet: a request to the pod; any answer from 200 to 399 is well.

import { within } from "../kit/base/call.ts";
import { BrokenAnswer, httpAsk } from "../kit/os/http-ask.ts";
import { headersOf, urlOf } from "../kit/kube/objects/http-action.ts";
import type { Plugin } from "../kit/base/plugin.ts";
import { failed, type ProbePlugin, probeKind, succeeded } from "../kit/contracts/probe.ts";

const probe: ProbePlugin = {
  name: "httpGet",
  supports: ({ httpGet: action }) => action !== undefined,
  async ask({ probe: { httpGet: action }, target, timeoutMs }, call) {
    if (!action) return failed("no request is given");
    const url = urlOf(action, target);
    try {
      const answer = await httpAsk({ url, headers: headersOf(action) }, within(timeoutMs, call));
      if (answer.statusCode < 200 || answer.statusCode >= 400)
        return failed(`HTTP probe failed with statuscode: ${answer.statusCode}`);
      if (answer.statusCode < 300) return succeeded(answer.body);
      const warning = `Probe terminated redirects, Response body: ${answer.body}`;
      return { ...succeeded(answer.body), warning };
    } catch (error) {
      // As upstream: it says neither that the container is well nor that it is not.
      if (error instanceof BrokenAnswer) throw error;
      return failed((error as Error).message);
    }
  },
};

export const httpGet: Plugin<ProbePlugin> = { kind: probeKind, name: "http-get", open: () => probe };
