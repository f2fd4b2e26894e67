// Exec, attach and port-forward: upgraded connections joined with the runtime's own sessions.

import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { ContainerState } from "../../cri/api/gen/runtime.js";
import { serveStream } from "../../cri/stream/accept.ts";
import { servePortForward } from "../../cri/stream/accept-port-forward.ts";
import { wantedByQuery } from "../../cri/stream/server-session.ts";
import type { AgentView } from "./contract.ts";
import { containerIn, podIn } from "./path.ts";

type Hold = (upgrade: Upgrade, call: Call) => Promise<void>;

/** What to do with the connection; Faults are told to the client as an HTTP answer. Undefined when the path is no session's. */
export function sessionAt(view: AgentView, parts: readonly string[], query: URLSearchParams): Hold | undefined {
  const [what = "", ...rest] = parts;
  if (what === "exec" || what === "attach") {
    const wanted = wantedByQuery(query);
    if (!wanted.stdin && !wanted.stdout && !wanted.stderr)
      throw new Fault("invalid", "you must specify at least 1 of stdin, stdout, stderr");
    const command = query.getAll("command");
    if (what === "exec" && command.length === 0) throw new Fault("invalid", "you must specify a command");
    const { container } = view.container(containerIn(rest));
    const session = { containerId: container.id, tty: wanted.tty };
    const { sessions } = view.runtime;
    return async (upgrade, asked) => {
      // Once the connection is a session's, a client that finds nobody there can only complain.
      if (!(await isRunning(view, container.id, asked)))
        throw new Fault("internal", `container not found ("${container.name}")`);
      await serveStream(upgrade, wanted, (streams, call) =>
        what === "exec"
          ? sessions.exec({ ...session, command }, streams, call)
          : sessions.attach(session, streams, call),
      );
    };
  }
  if (what === "portForward") {
    const { sandboxId } = view.sandbox(podIn(rest));
    const ports = query
      .getAll("port")
      .flatMap((text) => text.split(","))
      .map(Number);
    if (ports.some((port) => !Number.isInteger(port) || port < 1 || port > 65_535))
      throw new Fault("invalid", `"${query.getAll("port").join(",")}" are no ports`);
    const forward = view.runtime.sessions.portForward.bind(view.runtime.sessions);
    return (upgrade) =>
      servePortForward(upgrade, (port, connection, call) => forward(sandboxId, port, connection, call), { ports });
  }
  return undefined;
}

async function isRunning(view: AgentView, containerId: string, call: Call): Promise<boolean> {
  const { status } = await view.runtime.runtime.containerStatus({ containerId, verbose: false }, call);
  return status?.state === ContainerState.CONTAINER_RUNNING;
}
