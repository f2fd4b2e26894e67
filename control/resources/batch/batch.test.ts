// What is wrong with jobs and cron jobs, told by field as upstream tells it; and what of a job may change.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";
import { cronProblem } from "./cron-format.ts";

const jobs = "/apis/batch/v1/namespaces/default/jobs";
const template = { spec: { restartPolicy: "Never", containers: [{ name: "a", image: "x" }] } };
const indexed = (more: Json) => ({ completionMode: "Indexed", completions: 5, ...more });
const failing = (...rules: Json[]) => ({ podFailurePolicy: { rules } });
const exit = (more: Json) => ({ action: "FailJob", onExitCodes: { operator: "In", values: [1], ...more } });
const rule = "spec.podFailurePolicy.rules[0]";

const rows: [name: string, spec: Json, says: string][] = [
  [
    "an index limit without indexes",
    { backoffLimitPerIndex: 1 },
    "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
  ],
  [
    "more failures than indexes",
    indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 6 }),
    "spec.maxFailedIndexes: Invalid value: 6: must be less than or equal to completions",
  ],
  [
    "failures without a limit",
    indexed({ maxFailedIndexes: 1 }),
    "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
  ],
  ["indexes without a number", { completionMode: "Indexed", parallelism: 1 }, "spec.completions: Required value"],
  [
    "a rule that says nothing",
    failing({ action: "Ignore" }),
    `${rule}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required`,
  ],
  [
    "a rule's action",
    failing({ ...exit({}), action: "Shout" }),
    `${rule}.action: Unsupported value: "Shout": supported values: "Count", "FailIndex", "FailJob", "Ignore"`,
  ],
  [
    "an index that cannot fail alone",
    failing({ ...exit({}), action: "FailIndex" }),
    `${rule}.action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set`,
  ],
  [
    "success as a failure",
    failing(exit({ values: [0] })),
    `${rule}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator`,
  ],
  [
    "codes out of order",
    failing(exit({ values: [3, 2] })),
    `${rule}.onExitCodes.values: Invalid value: [3,2]: must be ordered`,
  ],
  [
    "a container of another pod",
    failing(exit({ containerName: "b" })),
    `${rule}.onExitCodes.containerName: Invalid value: "b": must be one of the container or initContainer names in the pod template`,
  ],
  [
    "a failure policy of pods that start again",
    { ...failing(exit({})), template: { spec: { ...template.spec, restartPolicy: "OnFailure" } } },
    'spec.template.spec.restartPolicy: Invalid value: "OnFailure": only "Never" is supported when podFailurePolicy is specified',
  ],
  [
    "success of what has no index",
    { successPolicy: { rules: [{ succeededCount: 1 }] } },
    "spec.successPolicy: Invalid value",
  ],
  [
    "success of too many",
    indexed({ successPolicy: { rules: [{ succeededIndexes: "0,2-3", succeededCount: 4 }] } }),
    "spec.successPolicy.rules[0].succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of indexes in the specified succeededIndexes field)",
  ],
  [
    "an index that is none",
    indexed({ successPolicy: { rules: [{ succeededIndexes: "7" }] } }),
    'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "7": error parsing succeededIndexes: too large index: "7"',
  ],
  [
    "a replacement",
    { podReplacementPolicy: "Never" },
    'spec.podReplacementPolicy: Unsupported value: "Never": supported values: "Failed", "TerminatingOrFailed"',
  ],
  ["a manager", { managedBy: "me" }, 'spec.managedBy: Invalid value: "me": must be a domain-prefixed path'],
  [
    "a selector of its own without saying so",
    { selector: { matchLabels: { a: "b" } } },
    'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` not auto-generated',
  ],
];

t.test("jobs are refused by field, and change only by the rules", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, spec, says] of rows) {
    const body = { metadata: { name: "j" }, spec: { template, ...spec } };
    const answer = await api.ask("POST", `${jobs}?dryRun=All`, body);
    t.equal(answer.status, 422, name);
    t.match(answer.body.message, says, name);
  }
  const right = {
    ...indexed({ backoffLimitPerIndex: 1, maxFailedIndexes: 2, suspend: true, parallelism: 5 }),
    ...failing(exit({ values: [2, 3] }), {
      action: "Ignore",
      onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
    }),
    successPolicy: { rules: [{ succeededIndexes: "0-2,4", succeededCount: 2 }] },
    managedBy: "example.com/me",
    template,
  };
  const made = await api.ask("POST", jobs, { metadata: { name: "j" }, spec: right });
  t.equal(made.status, 201, made.text);
  const change = async (spec: Json) => {
    const { status, body } = await api.ask(
      "PATCH",
      `${jobs}/j?dryRun=All`,
      { spec },
      {
        "content-type": "application/merge-patch+json",
      },
    );
    return status === 200 ? "taken" : body.message;
  };
  t.equal(await change({ completions: 6, parallelism: 6 }), "taken", "both numbers together");
  t.match(await change({ completions: 6 }), "can only be modified in tandem with spec.parallelism");
  t.match(await change({ backoffLimitPerIndex: 2 }), "spec.backoffLimitPerIndex: Invalid value: 2: field is immutable");
  t.equal(
    await change({ template: { spec: { nodeSelector: { a: "b" } } } }),
    "taken",
    "sent elsewhere before it began",
  );
  t.match(await change({ template: { spec: { hostname: "h" } } }), "field is immutable");
});

const schedules: [text: string, problem: string | undefined][] = [
  ["*/5 0-6,22 1 JAN,feb mon-Fri", undefined],
  ["@daily", undefined],
  ["@every 1h30m", undefined],
  ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
  ["99 * * * *", "end of range (99) above maximum (59): 99"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["* * * * 7", "end of range (7) above maximum (6): 7"],
  ["5-3 * * * *", "beginning of range (5) beyond end of range (3): 5-3"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["1/2/3 * * * *", "too many slashes: 1/2/3"],
  ["@never", "unrecognized descriptor: @never"],
  ["constructor", "expected exactly 5 fields, found 1: [constructor]"],
];

t.test("cronProblem() says what is wrong with a schedule", async (t) => {
  for (const [text, problem] of schedules) t.equal(cronProblem(text), problem, text);
});
