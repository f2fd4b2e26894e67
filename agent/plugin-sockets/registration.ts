// Speaks to one socket of the registration folder: asks what plugin it is, and tells it whether it was taken.

import { ask, socketClient } from "../../cri/api/grpc-ask.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { SocketPlugin } from "../../plugins/kit/contracts/plugin-sockets.ts";
import { type PluginInfo, RegistrationDefinition } from "./gen/plugin-registration.js";

const answerMs = 10_000;

export interface Registering {
  readonly type: string;
  readonly plugin: SocketPlugin;
}

/** Hands the plugin to `take` and tells the plugin how that went; a failure is also thrown. Undefined when `take` has no use for it. */
export async function registerSocket(
  socket: string,
  take: (found: Registering) => Promise<void> | undefined,
  call: Call,
): Promise<Registering | undefined> {
  const client = socketClient(socket);
  const { getInfo, notifyRegistrationStatus } = RegistrationDefinition.methods;
  const say = (method: typeof getInfo | typeof notifyRegistrationStatus, message: object) =>
    ask(
      client,
      { service: RegistrationDefinition, method, message, of: `plugin at ${socket}` },
      within(answerMs, call),
    );
  try {
    const info = (await say(getInfo, {})) as PluginInfo;
    if (info.name === "" || info.type === "") throw new Fault("invalid", `the plugin at ${socket} has no name or type`);
    const plugin = { name: info.name, endpoint: info.endpoint || socket, versions: info.supportedVersions };
    const found = { type: info.type, plugin };
    const taken = take(found);
    if (!taken) return undefined;
    try {
      await taken;
    } catch (error) {
      const status = { pluginRegistered: false, error: error instanceof Error ? error.message : String(error) };
      // Whether it hears that changes nothing here: the failure itself is what is told.
      await say(notifyRegistrationStatus, status).catch(() => {});
      throw error;
    }
    await say(notifyRegistrationStatus, { pluginRegistered: true, error: "" });
    return found;
  } finally {
    client.close();
  }
}
