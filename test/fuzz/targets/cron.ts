import { cronProblem } from "../../../control/resources/batch/cron-format.ts";
import { parseSchedule } from "../../../control/controllers/cron-job/schedule.ts";
import { attempt, check, type Target } from "../target.ts";

const after = Date.UTC(2026, 0, 31, 23, 59);

export const cron: Target = {
  name: "cron",
  corpus: [
    "*/5 * * * *",
    "0 0 29 2 *",
    "@daily",
    "@every 1h30m",
    "TZ=Europe/Zurich 0 3 * * mon-fri",
    "1-7/2,9 ? 1,15 jan SUN",
    "constructor",
  ],
  words: [
    "*",
    "/",
    "-",
    ",",
    "@every ",
    "@yearly",
    "TZ=UTC ",
    "CRON_TZ=Asia/Tokyo ",
    "sun",
    "dec",
    "59",
    "?",
    " ",
    "30 2 ",
  ],
  run(input) {
    const text = input.toString();
    return attempt(
      () => parseSchedule(text),
      (schedule) => {
        check(cronProblem(text.trim()) === undefined, "the schedule is accepted here and refused by validation");
        const next = schedule.next(after);
        check(next === undefined || next > after, `the next time ${next} is not after ${after}`);
        return next === undefined ? "never" : "next";
      },
    );
  },
};
