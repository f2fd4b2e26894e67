// Which events let a pod that fits nowhere be tried again: those that the filters which refused it name.

import { anyEvent, type WakeEvent } from "../../plugins/kit/contracts/scheduling.ts";
import { extenderPlugin } from "./ask-extenders.ts";
import type { FitError } from "./fit-error.ts";
import { placementSteps, type Profile } from "./profile.ts";

export function retryEvents(profile: Profile, fitError: FitError): Set<WakeEvent> {
  const events = new Set<WakeEvent>(
    placementSteps(profile)
      .filter(({ name }) => fitError.plugins.has(name))
      .flatMap((plugin) => plugin.retryOn ?? [anyEvent]),
  );
  // Nobody can say what an extender waits for.
  if (fitError.plugins.has(extenderPlugin)) events.add(anyEvent);
  if (fitError.nodeCount === 0) events.add("Node/Add");
  return events;
}
