// Static pods from a URL, fetched every 20 seconds. While it cannot be fetched or read, the pods it had stay, those of before a boot too.

import type { Call } from "../../plugins/kit/base/call.ts";
import { within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import { readManifest, withoutNamesakes } from "./static-pod.ts";

const refetchMs = 20_000;
const longestBytes = 10 << 20;

export interface ManifestUrlOptions {
  readonly url: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly fetch: (url: string, init: { signal: AbortSignal; headers: Record<string, string> }) => Promise<Response>;
  readonly headers?: Readonly<Record<string, string>>;
  /** What the URL had when it was last read. */
  readonly remembered?: readonly AgentPod[];
  readonly onPods: (pods: readonly AgentPod[]) => void;
  readonly onTrouble: (message: string) => void;
}

export class ManifestUrl {
  readonly #options: ManifestUrlOptions;
  #lastTrouble = "";
  #hasTold = false;

  constructor(options: ManifestUrlOptions) {
    this.#options = options;
  }

  async run(call: Call): Promise<void> {
    while (!call.signal.aborted) {
      await this.read(call);
      await this.#options.clock.sleep(refetchMs, call).catch(() => {});
    }
  }

  async read(call: Call): Promise<void> {
    const { url, nodeName, onPods, onTrouble } = this.#options;
    try {
      const headers = { ...this.#options.headers };
      const response = await this.#options.fetch(url, { signal: within(10_000, call).signal, headers });
      if (!response.ok) throw new Fault("unavailable", `Cannot read the manifest at ${url}: HTTP ${response.status}`);
      const text = await textOf(response, url);
      const troubles: string[] = [];
      const found = readManifest(text, url, "http", nodeName).map((pod) => ({ pod, where: url }));
      onPods(withoutNamesakes(found, (message) => void troubles.push(message)));
      this.#hasTold = true;
      const [trouble = ""] = troubles;
      if (trouble && trouble !== this.#lastTrouble) onTrouble(trouble);
      this.#lastTrouble = trouble;
    } catch (error) {
      if (call.signal.aborted) return;
      const message =
        error instanceof Fault ? error.message : `Cannot read the manifest at ${url}: ${(error as Error).message}`;
      if (message !== this.#lastTrouble) onTrouble(message);
      this.#lastTrouble = message;
      const { remembered = [] } = this.#options;
      if (this.#hasTold || remembered.length === 0) return;
      this.#hasTold = true;
      onPods(remembered);
    }
  }
}

/** Whoever serves it may be broken: no more is read than may be used. */
async function textOf(response: Response, url: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of response.body ?? []) {
    length += piece.length;
    if (length > longestBytes)
      throw new Fault("invalid", `Cannot read the manifest at ${url}: it is longer than 10 MiB`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString("utf8");
}
