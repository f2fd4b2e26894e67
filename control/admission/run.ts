// Runs the admission steps of one write in their order: first all that may change the object, then all that may only
// refuse it. A step that hands the object to strangers (webhooks) and got it back changed makes the others look once more.
// Most steps have nothing to wait for, and are not waited for: a write passes two dozen of them.

import type { AdmissionPlugin, AdmissionRequest } from "../../plugins/kit/contracts/admission.ts";
import type { Call } from "../../plugins/kit/base/call.ts";

/** Changes `request.object` in place. Throws the Fault of the first step that refuses. `complete` fills in what strangers leave open. */
export async function runMutating(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  call: Call,
  complete: () => void = () => {},
): Promise<void> {
  const handling = plugins.filter((plugin) => plugin.mutate && plugin.handles(request));
  let changedByStranger = false;
  for (const plugin of handling) {
    const before = plugin.reinvoke ? JSON.stringify(request.object) : "";
    const working = plugin.mutate?.(request, call);
    if (working) await working;
    if (!plugin.reinvoke || JSON.stringify(request.object) === before) continue;
    changedByStranger = true;
    complete();
  }
  if (!changedByStranger) return;
  // The object may now be one that other steps handle differently.
  for (const plugin of plugins.filter((each) => each.mutate && each.handles(request))) {
    await (plugin.reinvoke ? plugin.reinvoke(request, call) : plugin.mutate?.(request, call));
    if (plugin.reinvoke) complete();
  }
}

export async function runValidating(
  plugins: readonly AdmissionPlugin[],
  request: AdmissionRequest,
  call: Call,
): Promise<void> {
  for (const plugin of plugins) {
    const working = plugin.validate && plugin.handles(request) ? plugin.validate(request, call) : undefined;
    if (working) await working;
  }
}
