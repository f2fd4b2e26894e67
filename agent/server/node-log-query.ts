// `/logs/?query=<service>`: a service's own log, from the journal where there is one, else from its file below the log folder.

import { access } from "node:fs/promises";
import { join } from "node:path";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { run } from "../../plugins/kit/os/platform/process.ts";
import { text } from "./answers.ts";
import { nodeFiles } from "./node-files.ts";

const mostLines = 10_000;
const withinMs = 30_000;
/** Where systemd keeps its journal, and the program that reads it. */
export interface Journal {
  readonly dirs: readonly string[];
  readonly program: string;
}

const systemJournal: Journal = { dirs: ["/run/log/journal", "/var/log/journal"], program: "journalctl" };
// A unit's name and nothing that could be read as an option or a path.
const serviceName = /^[a-zA-Z0-9][a-zA-Z0-9_.@:-]{0,255}$/;

export async function nodeLogQuery(
  dir: string,
  query: URLSearchParams,
  call: Call,
  journal: Journal = systemJournal,
): Promise<Response> {
  const names = query.getAll("query").flatMap((value) => value.split(","));
  const services = names.filter((name) => name !== "");
  const wrong = services.find((name) => !serviceName.test(name) || name.includes(".."));
  if (wrong !== undefined || services.length === 0)
    throw new Fault("invalid", `query ${JSON.stringify(wrong ?? "")} is not the name of a service`);
  if (await isThere(journal)) return fromJournal(journal, services, query, call);
  for (const name of services) {
    for (const path of [[`${name}.log`], [name, `${name}.log`], [name]]) {
      const found = await nodeFiles(dir, path).catch(() => undefined);
      if (found?.headers.has("content-length")) return found;
    }
  }
  throw new Fault("not-found", `there is no journal, and no log of ${services.join(", ")} in ${dir}`);
}

async function isThere({ dirs }: Journal): Promise<boolean> {
  const found = await Promise.allSettled(dirs.map((path) => access(join(path, "."))));
  return found.some(({ status }) => status === "fulfilled");
}

async function fromJournal(
  { program }: Journal,
  services: readonly string[],
  query: URLSearchParams,
  call: Call,
): Promise<Response> {
  const lines = Number(query.get("tailLines") ?? mostLines);
  if (!Number.isInteger(lines) || lines < 0 || lines > mostLines)
    throw new Fault("invalid", `tailLines must be a whole number up to ${mostLines}`);
  const args = ["--utc", "--no-pager", "--output=short-precise", `--lines=${lines}`];
  for (const [option, name] of [
    ["--since", "sinceTime"],
    ["--until", "untilTime"],
  ] as const) {
    const time = Date.parse(query.get(name) ?? "");
    if (!Number.isNaN(time)) args.push(`${option}=@${Math.floor(time / 1000)}`);
    else if (query.get(name)) throw new Fault("invalid", `${name} is no RFC 3339 time`);
  }
  const boot = query.get("boot");
  if (boot !== null && !/^(0|-\d{1,4})$/.test(boot)) throw new Fault("invalid", "boot is 0 or how many boots ago");
  if (boot !== null) args.push(`--boot=${boot}`);
  const pattern = query.get("pattern");
  if (pattern) args.push(`--grep=${pattern}`);
  args.push(...services.map((name) => `--unit=${name}`));
  const { code, stdout, stderr } = await run(program, args, {}, within(withinMs, call));
  if (code !== 0 && stdout === "") throw new Fault("internal", `journalctl: ${stderr.trim().split("\n")[0] ?? ""}`);
  return text(stdout);
}
