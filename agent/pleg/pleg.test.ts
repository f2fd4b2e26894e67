import t from "tap";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { noLog, openLog } from "../../plugins/kit/base/log.ts";
import { isReady, openPodRoom, testPod } from "../../test/harness/pod-room.ts";
import { AgentMeters } from "../runtime/agent-meters.ts";
import { Pleg } from "./pleg.ts";

t.test(
  "Pleg.relist() sees the other pods while one sandbox cannot be read, and tries that one less and less often",
  async (t) => {
    const fake = openFake({ images: ["busybox:1"] });
    const room = await openPodRoom(fake);
    for (const name of ["sick", "well"]) {
      room.workers.update(testPod(name));
      await room.until(`uid-${name}`, isReady);
    }
    await room.close();
    const sick = [...fake.world.sandboxes.values()].find(({ status }) => status.metadata?.uid === "uid-sick")?.status
      .id;
    let asked = 0;
    const heal = fake.before("podSandboxStatus", async (request) => {
      if ((request as { podSandboxId: string }).podSandboxId !== sick) return;
      asked++;
      throw new Fault("internal", "failed to get the sandbox's state");
    });

    const clock = new FakeClock();
    const changed: string[] = [];
    const lines: string[] = [];
    const log = openLog({ level: "warn", human: false, to: { write: (line: string) => void lines.push(line) } });
    const meters = new AgentMeters();
    const pleg = new Pleg({
      runtime: fake,
      podsDir: "/nonexistent",
      clock,
      log,
      meters,
      onChange: (uid) => changed.push(uid),
    });
    await pleg.relist(uninterrupted);
    await pleg.listed;
    t.same(changed, ["uid-well"]);
    t.ok(pleg.peek("uid-well"));
    t.ok(pleg.isUnread("uid-sick"), "it is known to be there, so nothing of it is taken away");
    t.equal(pleg.unhealthy(), undefined, "the runtime as a whole is fine");

    for (let second = 0; second < 200; second++) {
      await clock.advance(1_000);
      await pleg.relist(uninterrupted);
    }
    t.ok(asked > 1 && asked < 12, `asked ${asked} times in 200 relists`);
    t.equal(lines.length, asked, "each failure is one line");
    t.match(meters.text(), new RegExp(`skiff_pleg_pod_status_errors_total ${asked}`));

    heal();
    await clock.advance(300_000);
    await pleg.relist(uninterrupted);
    t.notOk(pleg.isUnread("uid-sick"));
    t.ok(pleg.peek("uid-sick"));
  },
);

t.test("Pleg.trouble() is the runtime's, not that of one pod", async (t) => {
  const fake = openFake({ images: ["busybox:1"] });
  const room = await openPodRoom(fake);
  for (const name of ["one", "two"]) {
    room.workers.update(testPod(name));
    await room.until(`uid-${name}`, isReady);
  }
  await room.close();
  const clock = new FakeClock();
  const pleg = new Pleg({ runtime: fake, podsDir: "/nonexistent", clock, log: noLog, onChange: () => {} });
  const relistFor = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 10_000) {
      await clock.advance(10_000);
      await pleg.relist(uninterrupted).catch(() => {});
    }
  };
  let sick = (_uid: string | undefined) => true;
  const heal = fake.before("podSandboxStatus", async (request) => {
    const { podSandboxId } = request as { podSandboxId: string };
    if (sick(fake.world.sandboxes.get(podSandboxId)?.status.metadata?.uid)) throw new Fault("internal", "no shim");
  });
  t.equal(pleg.trouble(), undefined, "before the first list");
  await relistFor(170_000);
  t.equal(pleg.trouble(), undefined, "not at once");
  await relistFor(30_000);
  t.match(pleg.trouble(), /^PLEG is not healthy: no pod's status could be read from the runtime for \d+s: no shim$/);
  sick = (uid) => uid === "uid-one";
  await relistFor(400_000);
  t.equal(pleg.trouble(), undefined, "one of two is that pod's own trouble");
  heal();
  const listAgain = fake.before("listPodSandbox", async () => {
    throw new Fault("unavailable", "connection refused");
  });
  await relistFor(190_000);
  t.match(pleg.trouble(), /^PLEG is not healthy: pleg was last seen active \d+s ago: connection refused$/);
  listAgain();
  await relistFor(10_000);
  t.equal(pleg.trouble(), undefined);
});
