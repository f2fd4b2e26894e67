import t from "tap";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom, podTemplate } from "../../../test/harness/controllers.ts";
import { latestWithin, parseSchedule } from "./schedule.ts";

const at = (text: string) => Date.parse(text);
const names = ["cronjob-controller", "job-controller", "generic-garbage-collector"];

const newYork = "America/New_York";
const clockChanges: [what: string, schedule: string, zone: string, after: string, expected: string][] = [
  [
    "an hour that is skipped does not happen",
    "30 2 * * *",
    newYork,
    "2026-03-08T00:00-05:00",
    "2026-03-09T02:30-04:00",
  ],
  ["nor on another day of that year", "30 2 8 3 *", newYork, "2026-03-08T00:00-05:00", "2027-03-08T02:30-05:00"],
  ["every hour goes on behind the gap", "0 * * * *", newYork, "2026-03-08T01:00-05:00", "2026-03-08T03:00-04:00"],
  ["the day after is whole", "0 0 * * *", newYork, "2026-03-08T12:00-04:00", "2026-03-09T00:00-04:00"],
  ["an hour that comes twice happens first", "30 1 * * *", newYork, "2026-11-01T00:00-04:00", "2026-11-01T01:30-04:00"],
  ["and again", "30 1 * * *", newYork, "2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00"],
  ["and then on the next day", "30 1 * * *", newYork, "2026-11-01T01:30-05:00", "2026-11-02T01:30-05:00"],
  ["every hour is not confused by it", "0 * * * *", newYork, "2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00"],
  ["a day without a midnight", "0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00-03:00", "2018-11-05T00:00-02:00"],
  ["its first hour all the same", "0 1 * * *", "America/Sao_Paulo", "2018-11-03T12:00-03:00", "2018-11-04T01:00-02:00"],
  ["half an hour", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T12:00+10:30", "2026-10-05T02:15+11:00"],
];

t.test("parseSchedule() reads the clock on the wall when it is set", async (t) => {
  for (const [what, schedule, zone, after, expected] of clockChanges)
    t.equal(parseSchedule(schedule, zone).next(Date.parse(after)), Date.parse(expected), what);
});

t.test("parseSchedule() knows fields, names, zones and intervals", async (t) => {
  const rows = [
    { schedule: "*/15 * * * *", zone: "UTC", after: "2026-01-01T00:01:00Z", expected: "2026-01-01T00:15:00Z" },
    { schedule: "@daily", zone: "UTC", after: "2026-01-01T00:01:00Z", expected: "2026-01-02T00:00:00Z" },
    {
      schedule: "0 9 * * mon-fri",
      zone: "America/New_York",
      after: "2026-07-04T00:00:00Z",
      expected: "2026-07-06T13:00:00Z",
    },
    { schedule: "CRON_TZ=Asia/Tokyo 0 9 * * *", after: "2026-01-01T01:00:00Z", expected: "2026-01-02T00:00:00Z" },
    { schedule: "@every 1h30m", after: "2026-01-01T00:00:00.500Z", expected: "2026-01-01T01:30:00Z" },
    { schedule: "0 0 13 * 5", zone: "UTC", after: "2026-02-01T00:00:00Z", expected: "2026-02-06T00:00:00Z" },
    { schedule: "5/20 * * * *", zone: "UTC", after: "2026-02-01T00:05:00Z", expected: "2026-02-01T00:25:00Z" },
    { schedule: "0 0 */2 * 1", zone: "UTC", after: "2026-02-01T00:00:00Z", expected: "2026-02-02T00:00:00Z" },
    { schedule: "0 0 ? * ?", zone: "UTC", after: "2026-02-01T00:00:00Z", expected: "2026-02-02T00:00:00Z" },
  ];
  for (const { schedule, zone, after, expected } of rows)
    t.equal(parseSchedule(schedule, zone).next(at(after)), at(expected), `${schedule} ${zone ?? ""}`);
  t.equal(parseSchedule("0 0 30 2 *", "UTC").next(at("2026-01-01T00:00:00Z")), undefined, "it never comes");
  t.throws(() => parseSchedule("0 0 L * *"), { code: "invalid", message: /failed to parse int from L/ });
  t.throws(() => parseSchedule("0 0 * * *", "Mars/Olympus"), { code: "invalid", message: /time zone Mars\/Olympus/ });
  t.equal(parseSchedule("0 0 30 2 *", "UTC").next(at("2026-01-01T00:00:00Z")), undefined, "the 30th of February");
  for (const wrong of ["x", "61 * * * *", "@every", "@every -1h"])
    t.throws(() => parseSchedule(wrong), { code: "invalid" });
});

t.test("latestWithin() finds the last moment however long nobody looked", async (t) => {
  const minutes = parseSchedule("* * * * *", "UTC");
  t.same(latestWithin(minutes, at("2020-01-01T00:00:00Z"), at("2026-01-01T00:00:30Z")), {
    at: at("2026-01-01T00:00:00Z"),
    count: 3_156_480,
  });
  const office = parseSchedule("*/30 9-17 * * 1-5", "UTC");
  t.same(latestWithin(office, at("2025-12-01T00:00:00Z"), at("2026-01-04T12:00:00Z"))?.at, at("2026-01-02T17:30:00Z"));
  t.equal(latestWithin(minutes, at("2026-01-01T00:00:10Z"), at("2026-01-01T00:00:50Z")), undefined);
  const beat = parseSchedule("@every 90m");
  t.same(
    latestWithin(beat, at("2026-01-01T00:10:00Z"), at("2026-01-02T00:00:30Z")),
    { at: at("2026-01-01T22:40:00Z"), count: 15 },
    "the beat goes on from the last start",
  );
  const mornings = parseSchedule("* 9 * * *", "UTC");
  t.same(
    latestWithin(mornings, at("2026-01-01T08:00:00Z"), at("2026-01-02T08:00:00Z"))?.at,
    at("2026-01-01T09:59:00Z"),
  );
});

const cron = (name: string, spec: Json = {}) => ({
  metadata: { name },
  spec: {
    schedule: "* * * * *",
    timeZone: "UTC",
    jobTemplate: { spec: { template: podTemplate({}, { restartPolicy: "Never" }) } },
    ...spec,
  },
});

t.test("cronJobController() starts one job each minute and keeps a short history", async (t) => {
  const clock = new FakeClock(at("2026-01-01T00:00:30Z"));
  const room = await controllerRoom(t, names, { clock, outcome: () => "succeeded" });
  await room.create(resources.cronjobs, cron("tick", { successfulJobsHistoryLimit: 2 }));
  const started: string[] = [];
  room.api.server.informers.for<Json>(resources.jobs).onEvent(({ type, object }) => {
    if (type === "add") started.push(object.metadata.name);
  });
  for (let minute = 0; minute < 4; minute++) {
    await clock.advance(60_000);
    await room.until(
      resources.cronjobs,
      "tick",
      ({ status }) => status?.lastScheduleTime && !status.active && started.length === minute + 1,
    );
  }
  t.equal(new Set(started).size, 4);
  await room.until(resources.cronjobs, "tick", () => room.list(resources.jobs).length === 2);
  t.ok(room.get(resources.cronjobs, "tick").status.lastSuccessfulTime);
});

t.test("cronJobController() holds to the concurrency policy", async (t) => {
  const clock = new FakeClock(at("2026-01-01T00:00:30Z"));
  const room = await controllerRoom(t, names, { clock });
  await room.create(resources.cronjobs, cron("forbid", { concurrencyPolicy: "Forbid" }));
  await room.create(resources.cronjobs, cron("replace", { concurrencyPolicy: "Replace" }));
  await room.create(resources.cronjobs, cron("allow"));
  await clock.advance(60_000);
  await room.until(resources.cronjobs, "allow", ({ status }) => status?.active?.length === 1);
  await clock.advance(60_000);
  await room.until(resources.cronjobs, "allow", ({ status }) => status?.active?.length === 2);
  const replaced = await room.until(
    resources.cronjobs,
    "replace",
    ({ status }) => status?.lastScheduleTime === "2026-01-01T00:02:00Z",
  );
  t.equal(replaced.status.active.length, 1);
  t.equal(room.get(resources.cronjobs, "forbid").status.lastScheduleTime, "2026-01-01T00:01:00Z");
  await room.untilEvent("JobAlreadyActive");
  const [{ name }] = room.get(resources.cronjobs, "forbid").status.active;
  await room.delete(resources.jobs, name);
  t.match(await room.untilEvent("MissingJob"), {
    involvedObject: { name: "forbid" },
    message: `Active job went missing: ${name}`,
  });
  await room.until(resources.cronjobs, "forbid", ({ status }) => status.active?.[0]?.name !== name);
  const missing = room.list(resources.events).filter(({ reason }) => reason === "MissingJob");
  t.equal(missing.length, 1, "what was replaced is not missing");
});

t.test("cronJobController() tells what it missed, and what never comes, and stands still", async (t) => {
  const clock = new FakeClock(at("2026-01-01T12:00:00Z"));
  const room = await controllerRoom(t, names, { clock });
  const late = await room.create(
    resources.cronjobs,
    cron("late", { schedule: "0 9 * * *", startingDeadlineSeconds: 60, suspend: true }),
  );
  await clock.advance(23 * 3_600_000);
  await room.patch(resources.cronjobs, late.metadata.name, { spec: { suspend: false } });
  t.equal(
    (await room.untilEvent("MissSchedule")).message,
    "Missed scheduled time to start a job: Fri, 02 Jan 2026 09:00:00 +0000",
  );
  t.equal(room.list(resources.jobs).length, 0);
  await room.create(resources.cronjobs, cron("never", { schedule: "0 0 30 2 *" }));
  t.equal((await room.untilEvent("InvalidSchedule")).message, "invalid schedule: 0 0 30 2 * : it never comes");
  t.equal(room.list(resources.jobs).length, 0);
  // Nobody looked at this one for more than a hundred of its moments: one job is started, and a warning says so.
  await room.create(resources.cronjobs, cron("slept", { suspend: true }));
  await clock.advance(102 * 60_000);
  await room.patch(resources.cronjobs, "slept", { spec: { suspend: false } });
  await room.untilEvent("TooManyMissedTimes");
  await room.until(resources.cronjobs, "slept", ({ status }) => status?.lastScheduleTime);
  t.equal(room.list(resources.jobs).length, 1);
});
