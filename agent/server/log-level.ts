// `/debug/flags/v`: how much the process tells, changed while it runs. Upstream's verbosity: 0 to 3 is the usual, 4 and 5 are for
// debugging, more is everything.

import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log, LogLevel } from "../../plugins/kit/base/log.ts";
import { text } from "./answers.ts";

export async function setVerbosity(log: Log | undefined, body: () => Promise<string>): Promise<Response> {
  const asked = (await body()).trim();
  if (!/^\d{1,3}$/.test(asked))
    throw new Fault("invalid", `failed to set the verbosity: ${JSON.stringify(asked)} is no number`);
  if (!log?.setLevel) throw new Fault("unsupported", "the level of this log cannot be changed");
  log.setLevel(levelOf(Number(asked)));
  return text(`successfully set klog.logging.verbosity to ${asked}`);
}

function levelOf(verbosity: number): LogLevel {
  if (verbosity <= 3) return "info";
  return verbosity <= 5 ? "debug" : "trace";
}
