// The behaviour every probe plugin must show, written once and run against each.

import type { Test } from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import type { Probe } from "../../plugins/kit/kube/objects/types.ts";
import { longestOutput, type ProbePlugin, type ProbeTarget } from "../../plugins/kit/contracts/probe.ts";

export interface ProbeSubject {
  readonly plugin: ProbePlugin;
  readonly probe: Probe;
  readonly target: ProbeTarget;
  /** Makes what is probed well or ill; `silent` never answers; `wordy` is ill and has far too much to say. */
  become(state: "well" | "ill" | "silent" | "wordy"): Promise<void>;
  /** States that cannot be had with this kind of probe. */
  readonly never?: readonly string[];
}

const others: readonly Probe[] = [
  { exec: { command: ["true"] } },
  { httpGet: { port: 1 } },
  { tcpSocket: { port: 1 } },
  { grpc: { port: 1 } },
];

export function probeSuite(t: Test, name: string, open: (t: Test) => Promise<ProbeSubject>): void {
  const on = (title: string, check: (t: Test, subject: ProbeSubject) => Promise<unknown>) =>
    t.test(`${name}: ${title}`, async (t) => void (await check(t, await open(t))));
  const ask = ({ plugin, probe, target }: ProbeSubject, timeoutMs = 30_000, call = uninterrupted) =>
    plugin.ask({ probe, target, timeoutMs }, call);

  on("takes its own kind of probe and no other", async (t, { plugin, probe }) => {
    t.ok(plugin.supports(probe));
    const [own] = Object.keys(probe);
    for (const other of others) t.equal(plugin.supports(other), Object.hasOwn(other, own ?? ""), JSON.stringify(other));
    t.notOk(plugin.supports({}));
  });

  on("says how it is, each time anew", async (t, subject) => {
    for (const state of ["well", "ill", "well"] as const) {
      await subject.become(state);
      t.match(await ask(subject), { outcome: state === "well" ? "success" : "failure", output: String }, state);
    }
  });

  on("can be asked many times at once", async (t, subject) => {
    await subject.become("well");
    const reports = await Promise.all(Array.from({ length: 10 }, () => ask(subject)));
    t.ok(reports.every(({ outcome }) => outcome === "success"));
  });

  on("takes silence for a failure", async (t, subject) => {
    if (subject.never?.includes("silent")) return t.pass("it cannot be silent");
    await subject.become("silent");
    const { outcome, output } = await ask(subject, 200);
    t.equal(outcome, "failure");
    t.not(output, "", "and says so");
    return undefined;
  });

  on("ends when it is told to, without an answer", async (t, subject) => {
    if (subject.never?.includes("silent")) return t.pass("it cannot be silent");
    await subject.become("silent");
    const stop = new AbortController();
    const asking = ask(subject, 5_000, { signal: stop.signal });
    stop.abort(new Error("enough"));
    const report = await asking.catch(() => undefined);
    t.not(report?.outcome, "success");
    return undefined;
  });

  on("bounds what it repeats", async (t, subject) => {
    if (subject.never?.includes("wordy")) return t.pass("it has nothing to say");
    await subject.become("wordy");
    const { output, outcome } = await ask(subject);
    t.equal(outcome, "failure");
    t.ok(output.length <= longestOutput, `${output.length} bytes`);
    return undefined;
  });
}
