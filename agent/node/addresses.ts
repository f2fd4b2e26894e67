// The node's own addresses as its parts ask for them: remembered for a moment, and told when they change.

import type { Clock } from "../../plugins/kit/base/clock.ts";
import { nodeAddresses } from "../../plugins/kit/os/net/own-addresses.ts";

// Every pod's interface is in the list that must be read; addresses seldom change.
const keptMs = 5_000;

/** The same, read at most every five seconds: statuses of pods ask for it all the time. */
export function rememberedAddresses(configured: readonly string[], clock: Clock): () => readonly string[] {
  let known: readonly string[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (clock.monotonic() - readAt < keptMs) return known;
    readAt = clock.monotonic();
    known = nodeAddresses(configured);
    return known;
  };
}

const lookMs = 10_000;

/** Tells when the answer is another than before; returns what ends it. */
export function onAddressChange(addresses: () => readonly string[], clock: Clock, then: () => void): () => void {
  let known = addresses().join();
  let cancel: () => void;
  const look = () => {
    cancel = clock.after(lookMs, look);
    const now = addresses().join();
    if (now === known) return;
    known = now;
    then();
  };
  cancel = clock.after(lookMs, look);
  return () => cancel();
}
