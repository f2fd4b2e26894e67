import t from "tap";
import { msToWait } from "./backoff.ts";
import { formatIndexes, nextIndexes, parseIndexes } from "./indexes.ts";
import { wantedActive } from "./manage.ts";
import type { Job } from "./objects.ts";
import { matchSuccess } from "./policy.ts";
import { trackingStep } from "./tally.ts";

const job = (spec: Partial<Job["spec"]>, status: Job["status"] = {}): Job => ({
  metadata: { name: "j", uid: "u" },
  spec: { template: {}, ...spec },
  status,
});

t.test("formatIndexes() and parseIndexes() keep every index", async (t) => {
  for (const text of ["", "0", "0,1", "0-2", "0,2-4,7,8,10-12"]) t.equal(formatIndexes(parseIndexes(text, 100)), text);
  t.same([...parseIndexes("0-9", 3)], [0, 1, 2], "an index beyond completions does not count");
  t.same([...parseIndexes("x,1", 3)], [1]);
  t.same(
    nextIndexes(2, 5, (index) => index < 2),
    [2, 3],
  );
});

t.test("msToWait() doubles from ten seconds to ten minutes", async (t) => {
  for (const [failures, expected] of [
    [0, 0],
    [1, 10_000],
    [2, 20_000],
    [4, 80_000],
    [20, 600_000],
  ] as const)
    t.equal(msToWait(failures, 0, 0), expected, String(failures));
  t.equal(msToWait(1, 0, 30_000), 0);
});

t.test("wantedActive() never asks for more than is left to do", async (t) => {
  const rows = [
    { spec: { parallelism: 3, completions: 10 }, status: { succeeded: 9 }, active: 0, expected: 1 },
    { spec: { parallelism: 3, completions: 10 }, status: {}, active: 0, expected: 3 },
    { spec: { parallelism: 3 }, status: { succeeded: 1 }, active: 2, expected: 2 },
    { spec: { parallelism: 3 }, status: {}, active: 2, expected: 3 },
    { spec: { parallelism: 0, completions: 1 }, status: {}, active: 0, expected: 0 },
    {
      spec: { parallelism: 5, completions: 3, completionMode: "Indexed" },
      status: { failedIndexes: "0" },
      active: 0,
      expected: 2,
    },
  ];
  for (const row of rows)
    t.equal(wantedActive(job(row.spec), row.status, row.active), row.expected, JSON.stringify(row));
});

t.test("matchSuccess() asks for named indexes, a count, or a count among the named", async (t) => {
  const done = new Set([0, 2]);
  const rows = [
    { rule: { succeededIndexes: "0,2" }, expected: 0 },
    { rule: { succeededIndexes: "0-2" }, expected: undefined },
    { rule: { succeededIndexes: "0-2", succeededCount: 2 }, expected: 0 },
    { rule: { succeededCount: 3 }, expected: undefined },
    { rule: { succeededCount: 2 }, expected: 0 },
  ];
  for (const { rule, expected } of rows)
    t.equal(
      matchSuccess(job({ completions: 5, successPolicy: { rules: [rule] } }), done),
      expected,
      JSON.stringify(rule),
    );
});

t.test("trackingStep() counts each pod once, wherever it was interrupted", async (t) => {
  const pod = (uid: string, phase: "Succeeded" | "Failed", tracked: boolean) => ({
    apiVersion: "v1" as const,
    kind: "Pod" as const,
    metadata: { uid, name: uid, ...(tracked ? { finalizers: ["batch.kubernetes.io/job-tracking"] } : {}) },
    status: { phase },
  });
  const first = trackingStep(job({ completions: 2 }), [pod("a", "Succeeded", true), pod("b", "Failed", true)]);
  t.match(first.status, { uncountedTerminatedPods: { succeeded: ["a"], failed: ["b"] } });
  t.equal(first.status.succeeded, undefined);
  const again = trackingStep(job({ completions: 2 }, first.status), [
    pod("a", "Succeeded", true),
    pod("b", "Failed", false),
  ]);
  t.match(again.status, { uncountedTerminatedPods: { succeeded: ["a"] }, failed: 1 });
  const last = trackingStep(job({ completions: 2 }, again.status), []);
  t.match(last.status, { uncountedTerminatedPods: {}, succeeded: 1, failed: 1 });
});
