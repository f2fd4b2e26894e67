// Block coverage of the running program from V8 itself: which code inputs reached.

import { Session } from "node:inspector/promises";

export class Coverage {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** The blocks that ran since the last call, of all files but the fuzzer's own. */
  async take(): Promise<Set<string>> {
    const blocks = new Set<string>();
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    for (const { url, scriptId, functions } of result) {
      if (!url.startsWith("file:") || url.includes("/test/fuzz/")) continue;
      for (const { ranges } of functions)
        for (const { startOffset, endOffset, count } of ranges)
          if (count > 0) blocks.add(`${scriptId} ${startOffset} ${endOffset}`);
    }
    return blocks;
  }

  stop(): void {
    this.#session.disconnect();
  }
}
