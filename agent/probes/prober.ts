// Carries out one probe by the plugin that fits it, and says what came of it.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Probe } from "../../plugins/kit/kube/objects/types.ts";
import {
  longestOutput,
  type ProbePlugin,
  type ProbeReport,
  type ProbeTarget,
} from "../../plugins/kit/contracts/probe.ts";
import { timeoutMs } from "./machine.ts";

/** Of a question that could not be asked; an answer counts, whatever it is. */
const mostTries = 3;

export class Prober {
  readonly #plugins: readonly ProbePlugin[];

  constructor(plugins: readonly ProbePlugin[]) {
    this.#plugins = plugins;
  }

  /** Never rejects; a question that could not be asked is `errored`. */
  async probe(probe: Probe, target: ProbeTarget, call: Call): Promise<ProbeReport> {
    const plugin = this.#plugins.find((candidate) => candidate.supports(probe));
    if (!plugin) return { outcome: "errored", output: "missing probe handler" };
    let output = "";
    for (let tries = 0; tries < mostTries && !call.signal.aborted; tries++) {
      try {
        const report = await plugin.ask({ probe, target, timeoutMs: timeoutMs(probe) }, call);
        return { ...report, output: report.output.slice(0, longestOutput) };
      } catch (error) {
        output = error instanceof Error ? error.message : String(error);
      }
    }
    return { outcome: "errored", output };
  }
}
