// Terminal sizes on their way from a client: a stream of JSON objects in, the latest size out.

import type { TerminalSize } from "../api/sessions.ts";

/** Only the latest size that was not read yet is kept: nobody wants to see a window's past. */
export class SizeFeed implements AsyncIterable<TerminalSize> {
  #latest: TerminalSize | undefined;
  #ended = false;
  #wake = () => {};
  #text = "";

  /** Takes bytes as they come, cut anywhere. What is no size is ignored. */
  write(data: Uint8Array): void {
    this.#text += Buffer.from(data).toString();
    const end = this.#text.lastIndexOf("}");
    for (const [object] of this.#text.slice(0, end + 1).matchAll(/\{[^{}]*\}/g)) this.#take(object);
    // Whatever is no JSON must not pile up.
    this.#text = this.#text.slice(end + 1).slice(-1024);
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<TerminalSize> {
    for (;;) {
      const size = this.#latest;
      this.#latest = undefined;
      if (size) yield size;
      else if (this.#ended) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #take(object: string): void {
    try {
      const { Width: width, Height: height } = JSON.parse(object) as { Width?: unknown; Height?: unknown };
      if (!isSize(width) || !isSize(height)) return;
      this.#latest = { width, height };
      this.#wake();
    } catch {
      // Not JSON: the client's mistake changes no size.
    }
  }
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) < 65536;

export function sizeMessage({ width, height }: TerminalSize): string {
  return JSON.stringify({ Width: width, Height: height });
}
