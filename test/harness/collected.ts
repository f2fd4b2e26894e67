// A sink that keeps what was written, for a session's output.

import { Writable } from "node:stream";

export class Collected extends Writable {
  text = "";

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
