// logind over D-Bus: it tells that the machine is about to go down, and waits for those who hold a lock, for as long as its settings allow.

import { existsSync } from "node:fs";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { DbusConnection } from "../../plugins/kit/os/dbus/connection.ts";
import { callForDescriptor, type HeldFile } from "../../plugins/kit/os/dbus/descriptor-call.ts";
import { Variant } from "../../plugins/kit/os/dbus/values.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { systemBusPath } from "../../plugins/kit/os/systemd/manager.ts";

export interface Logind {
  /** How long the machine waits for locks at most. */
  longestDelayMs(call: Call): Promise<number>;
  /** While the lock is held, the machine waits before it goes down. Closing lets it go on. */
  delayShutdown(call: Call): Promise<HeldFile>;
  /** Told true when the machine is about to go down, and false when that was called off. */
  onPrepareForShutdown(then: (isGoingDown: boolean) => void, call: Call): Promise<void>;
  /** Resolves when nothing more will be told. */
  readonly closed: Promise<void>;
  close(): void;
}

const answerMs = 5_000;
const logind = { destination: "org.freedesktop.login1", path: "/org/freedesktop/login1" } as const;
const manager = "org.freedesktop.login1.Manager";

/** Fault `unavailable` where there is none. */
export async function openLogind(clock: Clock, call: Call, path: string = systemBusPath): Promise<Logind> {
  if (!existsSync(path)) throw new Fault("unavailable", `There is no logind: ${path} is not there`);
  const connection = await DbusConnection.open({ path, hasBus: true }, within(answerMs, call));
  return {
    async longestDelayMs(inner) {
      const get = { interface: "org.freedesktop.DBus.Properties", member: "Get", signature: "ss" };
      const [answer] = await connection.call(
        { ...logind, ...get, body: [manager, "InhibitDelayMaxUSec"] },
        within(answerMs, inner),
      );
      const microseconds = answer instanceof Variant ? answer.value : undefined;
      if (typeof microseconds !== "bigint") throw new Fault("internal", "logind does not say how long it waits");
      return Number(microseconds / 1000n);
    },
    delayShutdown(inner) {
      const body = ["shutdown", "skiff", "Pods are ended before the machine goes down", "delay"];
      const method = { ...logind, interface: manager, member: "Inhibit", signature: "ssss", body };
      return callForDescriptor(path, method, clock, within(answerMs, inner));
    },
    async onPrepareForShutdown(then, inner) {
      const rule = { sender: logind.destination, path: logind.path, interface: manager, member: "PrepareForShutdown" };
      await connection.listen(rule, ([isGoingDown]) => then(isGoingDown === true), within(answerMs, inner));
    },
    closed: connection.closed,
    close: () => connection.close(),
  };
}
