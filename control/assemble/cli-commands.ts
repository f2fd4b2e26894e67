// `skiff status`, `skiff logs` and `skiff exec` from their settings: which cluster is asked, and what of this terminal is used.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { accessByKubeconfig, type ClusterAccess } from "../cli/access.ts";
import { execInPod } from "../cli/exec.ts";
import { showLogs } from "../cli/logs.ts";
import { statusLines, watchStatus } from "../cli/status.ts";
import { durationSeconds } from "./duration.ts";

/** How a box that only joined gets at the API; undefined when it did not. */
export type NodeAccess = (settings: Settings) => Promise<ClusterAccess | undefined>;

const watchMs = 2000;

export function statusCommand(settings: Settings, nodeAccess: NodeAccess, asked: Call): Promise<void> {
  const { stdout } = process;
  const call = whileRead(asked, stdout);
  // A screen is drawn anew from its top, a file gets one text after another.
  const before = stdout.isTTY ? "\u001b[H\u001b[2J" : "";
  const show = (lines: readonly string[]) => void stdout.write(`${before}${lines.join("\n")}\n`);
  return withAccess(settings, nodeAccess, async (access) => {
    if (settings["watch"] === true) await watchStatus(access, { clock: systemClock, everyMs: watchMs, show }, call);
    else stdout.write(`${(await statusLines(access, call)).join("\n")}\n`);
  });
}

export function logsCommand(pod: string, settings: Settings, nodeAccess: NodeAccess, call: Call): Promise<void> {
  const since = settings["since"] as string | undefined;
  const sinceSeconds = since === undefined ? undefined : durationSeconds(since);
  if (since !== undefined && !sinceSeconds)
    throw new Fault("invalid", `Bad value for --since: "${since}" is not a time such as 10m or 2h`);
  const wish = {
    ...podWish(pod, settings),
    follow: settings["follow"] === true,
    previous: settings["previous"] === true,
    timestamps: settings["timestamps"] === true,
    tail: Number(settings["tail"] ?? -1),
    sinceSeconds,
  };
  const out = { stdout: process.stdout, tell: (line: string) => void process.stderr.write(`${line}\n`) };
  return withAccess(settings, nodeAccess, (access) => showLogs(access, wish, out, whileRead(call, out.stdout)));
}

/** The exit code is the command's. */
export function execCommand(
  words: readonly string[],
  settings: Settings,
  nodeAccess: NodeAccess,
  call: Call,
): Promise<number> {
  const [pod = "", ...command] = words;
  if (command.length === 0) throw new Fault("invalid", `What is to be run? skiff exec ${pod} -- <command>`);
  const wish = {
    ...podWish(pod, settings),
    command,
    stdin: settings["stdin"] === true,
    tty: settings["tty"] === true,
  };
  return withAccess(settings, nodeAccess, (access) => execInPod(access, wish, process, call));
}

/** Ends, too, when whoever read the output has left, as `head` does. */
function whileRead(call: Call, output: NodeJS.WritableStream): Call {
  const left = new AbortController();
  output.once("error", () => left.abort());
  return { signal: AbortSignal.any([call.signal, left.signal]) };
}

function podWish(pod: string, settings: Settings) {
  const { namespace, container } = settings as { namespace?: string; container?: string };
  return { pod, namespace, container };
}

/** What an instance keeps of its cluster is for root alone. */
function asRoot(error: unknown): unknown {
  if (!isFault(error, "forbidden")) return error;
  return new Fault("forbidden", `${error.message}; run it as root, or give --kubeconfig`, { cause: error });
}

async function withAccess<T>(
  settings: Settings,
  nodeAccess: NodeAccess,
  work: (access: ClusterAccess) => Promise<T>,
): Promise<T> {
  const dataDir = String(settings["data-dir"]);
  const admin = join(dataDir, "admin.kubeconfig");
  const path = settings.kubeconfig === undefined ? admin : String(settings.kubeconfig);
  const isNamed = settings.kubeconfig !== undefined;
  const opening = isNamed || existsSync(admin) ? accessByKubeconfig(path) : nodeAccess(settings);
  const access = await opening.catch((error: unknown) => {
    throw isNamed ? error : asRoot(error);
  });
  if (!access)
    throw new Fault(
      "not-found",
      `Cannot find a cluster on this box: there is no ${admin}; give --kubeconfig or --data-dir`,
    );
  try {
    return await work(access);
  } catch (error) {
    if (access.nodeName === undefined || !isFault(error, "forbidden")) throw error;
    throw new Fault("forbidden", `${error.message}; this box has only its node's identity: give --kubeconfig`, {
      cause: error,
    });
  } finally {
    access.close();
  }
}
