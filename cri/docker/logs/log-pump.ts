// Takes one container's log from the daemon into its CRI file, as it comes, until the container has ended and everything is written.

import { type Call, uninterrupted, untilStopped } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";
import type { Engine } from "../engine/engine.ts";
import type { ContainerInspect } from "../engine/types.ts";
import { LogFile } from "./log-file.ts";
import { LogMessageReader } from "./log-messages.ts";

export interface LogPumpOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly log: Log;
  readonly containerId: string;
  readonly isTerminal: boolean;
  readonly path: string;
  readonly statePath: string;
}

const retryMs = 200;
const longestRetryMs = 5000;

export class LogPump {
  readonly #options: LogPumpOptions;
  readonly #file: LogFile;
  readonly #stop = new AbortController();
  /** Resolves when the container's last line is in the file, or the pump was stopped. Never rejects. */
  readonly done: Promise<void>;

  constructor(options: LogPumpOptions) {
    this.#options = options;
    this.#file = new LogFile(options.path, options.statePath);
    this.done = this.#run().finally(() => this.#file.close());
  }

  reopen(): void {
    this.#file.reopen();
  }

  /** Leaves the rest to the next pump. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.done;
  }

  async #run(): Promise<void> {
    const { log, containerId, clock } = this.#options;
    for (let delayMs = retryMs; !this.#stop.signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        await this.#take(true, this.#stop);
        if (await this.#hasEnded()) {
          // The end of a followed log may come before its last lines.
          await this.#take(false, this.#stop);
          return;
        }
        delayMs = retryMs;
      } catch (error) {
        if (this.#stop.signal.aborted || isFault(error, "not-found")) return;
        log.debug({ err: error, container: containerId }, "a container's log was interrupted; going on");
      }
      await clock.sleep(delayMs, this.#stop).catch(() => {});
    }
  }

  async #take(follow: boolean, call: Call): Promise<void> {
    const { engine, containerId, isTerminal } = this.#options;
    const since = this.#file.position.resume();
    const query = { follow, stdout: true, stderr: true, timestamps: true, since };
    const answer = await engine.bare(`/containers/${containerId}/logs`, { query }, call);
    const reader = new LogMessageReader(isTerminal);
    const isNew = (message: Parameters<LogFile["position"]["isNew"]>[0]) => this.#file.position.isNew(message);
    try {
      const chunks = untilStopped(answer as AsyncIterable<Buffer>, call);
      for await (const chunk of chunks) this.#file.write(reader.read(chunk).filter(isNew));
      call.signal.throwIfAborted();
      this.#file.write(reader.end().filter(isNew));
    } finally {
      answer.destroy();
    }
  }

  async #hasEnded(): Promise<boolean> {
    const { engine, containerId } = this.#options;
    const { State } = await engine.get<ContainerInspect>(`/containers/${containerId}/json`, {}, uninterrupted);
    return !State.Running;
  }
}
