// ReopenContainerLog: conmon is told, and answered for only when the new file is there, since whoever rotates looks at it next.

import { existsSync } from "node:fs";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Native } from "../native.ts";
import { outputPath } from "./conmon.ts";
import { control } from "./container-attach.ts";

const patienceMs = 10_000;
const lookMs = 2;

export async function reopenLog(native: Native, id: string, call: Call): Promise<void> {
  const record = native.containers.get(id);
  const name = record.config.metadata?.name;
  if (record.phase !== "running")
    throw new Fault("conflict", `Cannot reopen the log of container "${name}": it is ${record.phase}`);
  control(native, record, "2 0 0\n");
  const until = native.clock.monotonic() + patienceMs;
  while (!existsSync(outputPath(native, record))) {
    if (native.clock.monotonic() > until)
      throw new Fault("timeout", `Cannot reopen the log of container "${name}": its conmon does not make the file`);
    await native.clock.sleep(lookMs, call);
  }
}
