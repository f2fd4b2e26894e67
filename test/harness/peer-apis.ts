// Our API server and the real kube-apiserver side by side, with the same few objects in both and no controllers in either: what one answers,
// the other has to answer too.

import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import type { Json } from "../fixtures/objects/valid-object.ts";
import { startControl } from "./control.ts";
import type { Owner } from "./etcd.ts";
import { startKubeApiserver } from "./kube-apiserver.ts";
import { until } from "./until.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed where it is JSON, a list of it where there are several (events of a watch), else the text. */
  readonly body: Json;
}

interface PeerApi {
  readonly kubeconfig: string;
  ask(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface PeerApis {
  readonly ours: PeerApi;
  readonly theirs: PeerApi;
  /** The same question to both. */
  both(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<[Answer, Answer]>;
}

const serviceCidr = "10.96.0.0/16";

export async function startPeerApis(t: Owner): Promise<PeerApis> {
  const theirs = await peerApi(t, (await startKubeApiserver(t)).kubeconfig);
  const control = await startControl({ controllers: false, serviceCidr, clusterDns: ["10.96.0.10"] });
  t.teardown(() => control.close());
  const ours = await peerApi(t, control.adminKubeconfig);
  for (const api of [ours, theirs]) {
    await until("the API server to be ready", async () => (await api.ask("GET", "/readyz")).status === 200, 120_000);
    // Without a token of its own, a pod is shown as it was written.
    const account = {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "default" },
      automountServiceAccountToken: false,
    };
    const accounts = "/api/v1/namespaces/default/serviceaccounts";
    await until(
      "the default service account",
      async () => [201, 409].includes((await api.ask("POST", accounts, account)).status),
      60_000,
    );
  }
  return {
    ours,
    theirs,
    both: (...question) => Promise.all([ours.ask(...question), theirs.ask(...question)]),
  };
}

async function peerApi(t: Owner, kubeconfig: string): Promise<PeerApi> {
  const { fetch, server, close } = await loadKubeconfig(kubeconfig);
  t.teardown(() => close());
  return {
    kubeconfig,
    async ask(method, path, body, headers = {}) {
      const init: RequestInit = { method, headers };
      if (body !== undefined) {
        init.body = typeof body === "string" ? body : JSON.stringify(body);
        init.headers = { "content-type": "application/json", ...headers };
      }
      const response = await fetch(new Request(`${server}${path}`, init)).catch((error: unknown) => {
        // Not listening yet.
        return new Response(String(error), { status: 503 });
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: parsed(text) };
    },
  };
}

function parsed(text: string): Json {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  }
}
