// `/run/{namespace}/{pod}/[{uid}/]{container}?cmd=…`: runs a command and answers with what it printed.

import { ExecSyncRequest } from "../../cri/api/gen/runtime.js";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { text } from "./answers.ts";
import type { AgentView } from "./contract.ts";
import { containerIn } from "./path.ts";

export async function runCommand(
  view: AgentView,
  parts: readonly string[],
  query: URLSearchParams,
  call: Call,
): Promise<Response> {
  const cmd = (query.get("cmd") ?? "").split(" ").filter((word) => word !== "");
  if (cmd.length === 0) throw new Fault("invalid", "you must specify a command as cmd");
  const { container } = view.container(containerIn(parts));
  const request = ExecSyncRequest.create({ containerId: container.id, cmd });
  const { stdout, stderr, exitCode } = await view.runtime.runtime.execSync(request, call);
  const output = Buffer.concat([stdout, stderr]);
  if (exitCode !== 0)
    return text(`command '${cmd.join(" ")}' exited with ${exitCode}: ${output.toString("utf8")}\n`, 500);
  return new Response(output, { headers: { "content-type": "text/plain; charset=utf-8" } });
}
