// Termination messages of one pod together are bounded, so that its object stays small: each container has an equal share.

import type { ContainerState, ContainerStatus } from "../../plugins/kit/kube/objects/types.ts";

const mostBytes = 12 << 10;

/** Changes the statuses it is given. */
export function boundMessages(statuses: readonly ContainerStatus[]): void {
  const share = Math.floor(mostBytes / Math.max(1, statuses.length));
  for (const status of statuses) {
    if (status.state) status.state = bounded(status.state, share);
    if (status.lastState) status.lastState = bounded(status.lastState, share);
  }
}

function bounded(state: ContainerState, bytes: number): ContainerState {
  const { terminated } = state;
  const text = Buffer.from(terminated?.message ?? "");
  if (!terminated || text.length <= bytes) return state;
  // A character that is cut in two would be shown as a broken one.
  let end = bytes;
  while (end > 0 && ((text[end] ?? 0) & 0xc0) === 0x80) end--;
  return { ...state, terminated: { ...terminated, message: text.subarray(0, end).toString("utf8") } };
}
