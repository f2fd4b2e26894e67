// What the daemon of a chosen runtime says of its version, for the doctor.

import { type Call, within } from "../../plugins/kit/base/call.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import type { DaemonFact } from "../check/finding.ts";
import { containerdSocket, findRuntime } from "./runtime.ts";

const askMs = 5000;

/** Undefined when Skiff runs the containers itself. */
export async function daemonOf(wanted: string, call: Call): Promise<(() => Promise<DaemonFact>) | undefined> {
  const name = wanted === "auto" ? await findRuntime() : wanted;
  if (name === "native") return undefined;
  const ask = name === "docker" ? askDocker : () => askCri(name, call);
  return async () => {
    try {
      return await ask(call);
    } catch (error) {
      return { name, problem: (error as Error).message };
    }
  };
}

async function askCri(name: string, call: Call): Promise<DaemonFact> {
  const { openRemote } = await import("../../cri/remote/open.ts");
  const remote = openRemote({ socket: name.startsWith("unix://") ? name.slice("unix://".length) : containerdSocket });
  try {
    const { runtimeName, runtimeVersion } = await remote.runtime.version({ version: "v1" }, within(askMs, call));
    // CRI v1 came with containerd 1.6; any other that speaks it is new enough.
    return { name: runtimeName, version: runtimeVersion, least: runtimeName === "containerd" ? [1, 6] : [0, 0] };
  } finally {
    await remote.close();
  }
}

async function askDocker(call: Call): Promise<DaemonFact> {
  const { dockerSocket } = await import("../../cri/docker/docker-runtime.ts");
  const socketPath = dockerSocket() ?? "/var/run/docker.sock";
  const fetch = httpFetch({ socketPath });
  try {
    const response = await fetch(new Request("http://docker/version", { signal: within(askMs, call).signal }));
    const { ApiVersion = "0.0" } = (await response.json()) as { ApiVersion?: string };
    return { name: "Docker API", version: ApiVersion, least: [1, 41] };
  } finally {
    fetch.close();
  }
}
