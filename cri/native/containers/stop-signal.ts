// Signals by name: CRI numbers them in its own order, images name them.

import { constants } from "node:os";
import { Signal } from "../../api/gen/runtime.js";

const terminate = 15;
const realTimeMin = 34;
const realTimeMax = 64;

/** The signal that asks the container to stop: CRI's choice, then the image's, then SIGTERM. */
export function stopSignalOf(wanted: Signal, ofImage: string | undefined): number {
  const name = Object.entries(Signal).find(([, value]) => value === wanted)?.[0];
  if (name && wanted !== Signal.RUNTIME_DEFAULT) return signalNumber(name) ?? terminate;
  return (ofImage ? signalNumber(ofImage) : undefined) ?? terminate;
}

function signalNumber(name: string): number | undefined {
  if (/^\d+$/.test(name)) return Number(name);
  const upper = name.toUpperCase();
  const full = upper.startsWith("SIG") ? upper : `SIG${upper}`;
  const realTime = /^SIGRT(MIN|MAX)(?:(?:PLUS|MINUS|[+-])(\d+))?$/.exec(full);
  if (realTime) {
    const offset = Number(realTime[2] ?? 0);
    return realTime[1] === "MIN" ? realTimeMin + offset : realTimeMax - offset;
  }
  return (constants.signals as Record<string, number>)[full === "SIGCLD" ? "SIGCHLD" : full];
}
