import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { testPod } from "../../test/harness/pod-room.ts";
import { agentConfig } from "../config/agent-config.ts";
import { endByPriority, groupPods, shutdownGroups } from "./shutdown.ts";

const pod = (name: string, priority?: number, terminationGracePeriodSeconds = 60) =>
  testPod(name, { terminationGracePeriodSeconds, ...(priority === undefined ? {} : { priority }) });
const namesOf = (groups: ReturnType<typeof groupPods>) =>
  groups.map(({ seconds, pods }) => [seconds, ...pods.map(({ metadata }) => metadata.name)]);

t.test("shutdownGroups() splits off what critical pods get, unless priorities are set", async (t) => {
  const of = (more: object) => shutdownGroups(agentConfig(more));
  t.same(of({}), []);
  t.same(of({ shutdownGraceSeconds: 30, shutdownGraceCriticalSeconds: 10 }), [
    { priority: 0, seconds: 20 },
    { priority: 2_000_000_000, seconds: 10 },
  ]);
  const set = [
    { priority: 1000, seconds: 5 },
    { priority: 10, seconds: 7 },
  ];
  t.same(of({ shutdownGraceByPriority: set }), [set[1], set[0]]);
  t.throws(
    () => of({ shutdownGraceSeconds: 5, shutdownGraceCriticalSeconds: 10 }),
    /critical-pods: .* cannot be longer/,
  );
  t.throws(() => of({ shutdownGraceSeconds: 5, shutdownGraceByPriority: set }), /by-pod-priority: .* give one of them/);
});

t.test("groupPods() takes the highest group that is not above a pod, and the lowest for those below all", async (t) => {
  const groups = [
    { priority: 10, seconds: 1 },
    { priority: 1000, seconds: 2 },
    { priority: 2000, seconds: 3 },
  ];
  const pods = [pod("none"), pod("ten", 10), pod("below", 999), pod("at", 1000), pod("above", 5000), pod("less", -5)];
  t.same(namesOf(groupPods(groups, pods)), [
    [1, "none", "ten", "below", "less"],
    [2, "at"],
    [3, "above"],
  ]);
});

t.test(
  "endByPriority() goes on when a group is gone or its time is over, and never gives more than a pod asks for",
  async (t) => {
    const clock = new FakeClock();
    const ended: [string, number | undefined][] = [];
    const gone = new Set<string>();
    const pods = [pod("quick", 0, 3), pod("stuck", 0), pod("vital", 2_000_000_000)];
    const done = endByPriority(
      [
        { priority: 0, seconds: 20 },
        { priority: 2_000_000_000, seconds: 10 },
      ],
      {
        pods: () => pods,
        clock,
        end: (uid, { reason }, grace) => {
          t.equal(reason, "Terminated");
          ended.push([uid, grace]);
          if (uid !== "uid-stuck") gone.add(uid);
        },
        isReleased: (uid) => gone.has(uid),
      },
      uninterrupted,
    );
    await clock.advance(19_000);
    t.same(ended, [
      ["uid-quick", 3],
      ["uid-stuck", 20],
    ]);
    await clock.advance(1_100);
    await done;
    t.same(ended.at(-1), ["uid-vital", 10]);
  },
);
