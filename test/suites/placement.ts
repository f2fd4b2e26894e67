// The behaviour every placement plugin must show, written once and run against each: pods are given up at any step, and nothing that
// was taken for them stays taken.

import type { Test } from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import type { KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { PlacementSteps } from "../../plugins/kit/contracts/scheduling.ts";

export interface PlacementSubject {
  readonly plugin: PlacementSteps;
  readonly node: Node;
  /** Each call gives another pod that the plugin lets go on when it comes alone. */
  freePod(): Pod;
  /** One that `permit` holds up when it comes alone; undefined where it never does. */
  heldPod?(): Pod;
}

export function placementSuite(t: Test, name: string, subjectOf: (t: Test) => Promise<PlacementSubject>): void {
  const on = (title: string, check: (t: Test, subject: PlacementSubject) => Promise<void>) =>
    t.test(`${name}: ${title}`, async (t) => check(t, await subjectOf(t)));
  const cluster = (assumed: KubeObject[] = []) => ({
    list: () => [],
    get: () => undefined,
    assume: (_resource: string, object: KubeObject) => void assumed.push(object),
  });

  on("lets a pod go through every step", async (t, { plugin, node, freePod }) => {
    const pod = freePod();
    t.equal(plugin.reserve?.(pod, node, cluster()), undefined);
    t.equal(await plugin.permit?.(pod, node, uninterrupted), undefined);
    plugin.bound?.(pod, node);
  });

  on("gives up what was never taken, and twice", async (t, { plugin, node, freePod }) => {
    const pod = freePod();
    t.doesNotThrow(() => plugin.unreserve?.(pod, node));
    plugin.reserve?.(pod, node, cluster());
    t.doesNotThrow(() => {
      plugin.unreserve?.(pod, node);
      plugin.unreserve?.(pod, node);
    });
  });

  on("takes the same pod again after it was given up", async (t, { plugin, node, freePod }) => {
    const pod = freePod();
    plugin.reserve?.(pod, node, cluster());
    plugin.unreserve?.(pod, node);
    t.equal(plugin.reserve?.(pod, node, cluster()), undefined);
    t.equal(await plugin.permit?.(pod, node, uninterrupted), undefined);
  });

  on("stops waiting when told, and then has forgotten the pod", async (t, { plugin, node, heldPod }) => {
    if (!heldPod) return void t.pass("it holds nobody up");
    for (const pod of [heldPod(), heldPod()]) {
      plugin.reserve?.(pod, node, cluster());
      const stop = new AbortController();
      const waiting = plugin.permit?.(pod, node, { signal: stop.signal });
      const first = await Promise.race([waiting, new Promise((resolve) => setImmediate(() => resolve("held")))]);
      t.equal(first, "held", "one of those that were given up does not count");
      stop.abort(new Error("told to stop"));
      await t.rejects(async () => void (await waiting), /told to stop/);
      plugin.unreserve?.(pod, node);
    }
  });
}
