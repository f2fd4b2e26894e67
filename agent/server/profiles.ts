// `/debug/pprof/…`: profiles of this process, in the forms that the developer tools of browsers and editors open.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { text } from "./answers.ts";
import { unknown } from "./path.ts";

const longestSeconds = 300;
const index = `/debug/pprof/

profile?seconds=30  CPU profile (.cpuprofile)
heap?seconds=5      what is allocated, by sampling (.heapprofile)
cmdline             the command line
`;

let isBusy = false;

export async function profile(name: string, query: URLSearchParams, clock: Clock, call: Call): Promise<Response> {
  if (name === "") return text(index);
  if (name === "cmdline") return text(process.argv.join("\0"));
  if (name === "profile") {
    const seconds = secondsIn(query, 30);
    return saved(
      "profile.cpuprofile",
      await sampled("Profiler.enable", "Profiler.start", "Profiler.stop", seconds, clock, call),
    );
  }
  if (name === "heap") {
    const seconds = secondsIn(query, 5);
    const start = "HeapProfiler.startSampling";
    const taken = await sampled("HeapProfiler.enable", start, "HeapProfiler.stopSampling", seconds, clock, call);
    return saved("heap.heapprofile", taken);
  }
  throw unknown();
}

function secondsIn(query: URLSearchParams, usual: number): number {
  const seconds = Number(query.get("seconds") ?? usual);
  if (!(seconds > 0 && seconds <= longestSeconds))
    throw new Fault("invalid", `seconds must be more than 0 and at most ${longestSeconds}`);
  return seconds;
}

function saved(name: string, value: unknown): Response {
  const headers = {
    "content-type": "application/json",
    "content-disposition": `attachment; filename="${name}"`,
    "x-content-type-options": "nosniff",
  };
  return new Response(JSON.stringify(value), { headers });
}

type Post = (method: string) => Promise<unknown>;

/** One at a time: two would measure each other. */
async function sampled(
  enable: string,
  start: string,
  stop: string,
  seconds: number,
  clock: Clock,
  call: Call,
): Promise<unknown> {
  if (isBusy) throw new Fault("conflict", "another profile is being taken");
  isBusy = true;
  try {
    const { Session } = await import("node:inspector/promises");
    const session = new Session();
    session.connect();
    try {
      const post: Post = (method) => session.post(method as "Profiler.enable");
      await post(enable);
      await post(start);
      await clock.sleep(seconds * 1000, call);
      return ((await post(stop)) as { profile?: unknown }).profile;
    } finally {
      session.disconnect();
    }
  } finally {
    isBusy = false;
  }
}
