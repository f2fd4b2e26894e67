// Attach: the streams of the container's own process. Detaching leaves it running.

import type { AttachSession, SessionStreams } from "../../api/sessions.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Docker } from "../docker.ts";
import { followSizes, joinStreams } from "./session-streams.ts";

export async function attachSession(
  docker: Docker,
  { containerId }: AttachSession,
  streams: SessionStreams,
  call: Call,
): Promise<void> {
  const seen = await docker.inventory.inspect("container", containerId, call);
  if (!seen.State.Running)
    throw new Fault("conflict", `Cannot attach to container "${seen.Id}": it is ${seen.State.Status}, not running`);
  const { stdin, stdout, stderr, resizes } = streams;
  const query = {
    stream: true,
    stdin: stdin !== undefined,
    stdout: stdout !== undefined,
    stderr: stderr !== undefined,
  };
  const socket = await docker.engine.hijack(`/containers/${seen.Id}/attach`, { query }, call);
  const over = new AbortController();
  void followSizes(resizes, ({ width, height }) =>
    docker.engine.call("POST", `/containers/${seen.Id}/resize`, { query: { w: width, h: height } }, over),
  );
  try {
    await joinStreams(socket, streams, seen.Config.Tty, call);
  } finally {
    over.abort();
  }
}
