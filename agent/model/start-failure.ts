// Why a container could not be started: the reason and message that its waiting state shows, and when to look again.

import { Fault } from "../../plugins/kit/base/fault.ts";

export class StartFailure extends Fault {
  /** The reason of the waiting state, such as `ErrImagePull`. */
  readonly reason: string;
  /** Wall time at which another try makes sense; undefined leaves it to the worker's back-off. */
  readonly retryAtMs: number | undefined;

  constructor(reason: string, message: string, cause?: unknown, retryAtMs?: number) {
    super("unavailable", message, { cause });
    this.reason = reason;
    this.retryAtMs = retryAtMs;
  }
}
