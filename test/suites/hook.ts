// The behaviour every pod hook must show, written once and run against each: steps may come twice, after a restart, or not at all.

import type { Test } from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import type { PodHook, StartedContainer } from "../../plugins/kit/contracts/hook.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { testPod } from "../harness/pod-room.ts";

export interface HookSubject {
  /** A new instance on the same state, as after a restart of the agent. */
  open(): Promise<PodHook>;
  /** A container of the pod, as the agent would tell of it. */
  container(pod: Pod, name: string): StartedContainer;
  /** What hooks have made so far, in any words that can be compared. */
  traces(): readonly string[];
}

const podOf = (uid: string): Pod => testPod("web", {}, { uid });

export function hookSuite(t: Test, name: string, subjectOf: (t: Test) => Promise<HookSubject>): void {
  const on = (title: string, check: (t: Test, subject: HookSubject) => Promise<void>) =>
    t.test(`${name}: ${title}`, async (t) => check(t, await subjectOf(t)));
  const live = async (hook: PodHook, subject: HookSubject, pod: Pod) => {
    await hook.prepare?.(pod, call);
    for (const container of ["main", "side"]) await hook.started?.(pod, subject.container(pod, container), call);
  };

  on("leaves nothing of a pod that is gone", async (t, subject) => {
    const hook = await subject.open();
    const before = subject.traces();
    await live(hook, subject, podOf("a"));
    await hook.cleanup?.(podOf("a"), call);
    t.same(subject.traces(), before);
  });

  on("takes every step twice", async (t, subject) => {
    const hook = await subject.open();
    const before = subject.traces();
    await live(hook, subject, podOf("a"));
    const once = subject.traces();
    await live(hook, subject, podOf("a"));
    t.same(subject.traces(), once);
    await hook.cleanup?.(podOf("a"), call);
    await hook.cleanup?.(podOf("a"), call);
    t.same(subject.traces(), before);
  });

  on("cleans up what was never prepared", async (t, subject) => {
    const hook = await subject.open();
    const before = subject.traces();
    await hook.cleanup?.(podOf("never"), call);
    t.same(subject.traces(), before);
  });

  on("cleans up after a restart", async (t, subject) => {
    const before = subject.traces();
    await live(await subject.open(), subject, podOf("a"));
    await (await subject.open()).cleanup?.(podOf("a"), call);
    t.same(subject.traces(), before);
  });

  on("leaves other pods alone, also one of the same name that came after it", async (t, subject) => {
    const hook = await subject.open();
    await live(hook, subject, podOf("b"));
    const ofOther = subject.traces();
    await live(hook, subject, podOf("a"));
    await hook.cleanup?.(podOf("a"), call);
    t.same(subject.traces(), ofOther);
  });
}
